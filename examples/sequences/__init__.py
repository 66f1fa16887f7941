"""`make sequences`: what each airport did next, as rows come and in the order of their event times."""
