"""Actions of operators on the running cluster, from its pages.

consequences  what each fault does, and what it cannot break
faults        the pages of processes: asked first, then done
traffic       load on the nodes: started, watched, stopped
topology      what the cluster is made of, as a picture
picture_words the words of the Cluster page's picture
hold_pages    a transaction that is kept open on a node, so that a wait can be watched
first_visit   the card for newcomers, put away and brought back
lease_list    leases and the changes that wait for them, as the lease console shows them
lease_history who leased what, and how it ended
leases        the lease console: asked first, then done
audit_trail   who did what when, from the story and the log of the administration
"""
