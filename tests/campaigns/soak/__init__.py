"""Servers, watchers and commands on one workspace for hours: right to the end, and flat?"""
