"""People of the page.

roles          who may do what
passwords      signing in with one
throttle       a wrong password of the page delays the next
sign_in_links  signing in without one
account        one's own account, with
forms            its forms
theme          the colours a browser has chosen
"""
