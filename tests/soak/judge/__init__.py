"""The judge of the storm, who shares no code with what is judged.

samples  live leases and versions, looked at all the time
pairs    pair tables decoded by the protocol's text alone
values   one value from its bytes, by the same text
verdict  all that must hold in the end
"""
