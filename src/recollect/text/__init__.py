"""What are the words of a text? Characters, terms and sizes, the same for every store and stage."""
