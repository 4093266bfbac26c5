"""How fast is Recollect, beside its peers and the limits of the machine? See bench/README.md."""
