"""The files of Recollect's models. There is no code here; `recollect` reads and checks them."""
