"""A session of the lab: a set-up, rules left out, and the steps taken; everything shown is worked out from these.

    session ──> replay ──> Shown: cluster, offers, verdicts, probe, trace, narration
       │
       └── a link: set-up, parameters, rules left out, steps, position, and the fingerprint of the rules

shown  the one shape that stage, exercises and classroom are given, whichever kind of session it is
"""
