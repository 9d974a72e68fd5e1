"""People of the page.

roles          who may do what
passwords      signing in with one; after wrong ones it waits
sign_in_links  signing in without one
account        one's own account, with
forms            its forms
"""
