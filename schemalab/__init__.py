"""The site and the cluster of processes around it: settings, supervision, people, the web process.

environment, sources, settings, checks, local_secrets  what a user may set, where it is read, whether it fits
command_line  manage.py as its users meet it
launch/       what `manage.py up` is to run
supervisor/   the tree of processes: started, watched, started again
embedded/     PostgreSQL and Redis as children
connections/  are they reachable, and what if not
people/       signing in, roles, accounts
operations/   what operators do to the running cluster from its pages
tables/       pages of a table that ask every floor
http/         bounds of requests
metrics/      figures for Prometheus
anywhere/     the lab in a browser, without a cluster
documents     documentation and code as pages
template_files templates as they are sent
formats/      times as the administration writes them
asgi, celery  the web process and the workers
health        is the cluster well?
streams       live parts for which the supervisor is asked
floors        which modules are pure: the import rule
polling       waiting for what tells nobody when it is so
"""
