------------------------------ MODULE Liveness ------------------------------
(***************************************************************************)
(* Does a change end?  OnlineIndex says what may never happen; this module *)
(* says what must happen at last, though a node may die at any moment.     *)
(*                                                                         *)
(* A dead node takes no step.  Its lease runs out all the same, because    *)
(* time passes (L3, L5), and its session is ended by the publisher (L8).   *)
(* "Ends" needs no more of it than these two.                              *)
(*                                                                         *)
(* How long it takes is arithmetic: nobody renews a dead node's lease      *)
(* (DeadShrinks), so it delays a publish by at most its duration (L3) and, *)
(* if it died inside a transaction, by the grace of L8 on top.             *)
(*                                                                         *)
(* Weak fairness is enough because publishing is one step.  In the product *)
(* it tries for the table's row without waiting (L7), beside acquisitions  *)
(* that share that row (L3): that it wins at last is not proved here.      *)
(*                                                                         *)
(* Flaws: "no-session-end" (L8), "no-expiry" (L3), and "revoked", where    *)
(* leases are revoked in place of expiring.                                *)
(***************************************************************************)
EXTENDS OnlineIndex

VARIABLE dead   \* the nodes that take no more steps: one at most

lvars == <<vars, dead>>
Alive(n) == n \notin dead
Dies(n)  == dead = {} /\ dead' = {n} /\ UNCHANGED vars
------------------------------------------------------------------------------
\* L5: an older version's lease is not renewed, and neither is any lease of a dead node.
RunsOut(n) == /\ \E v \in lease[n] : /\ (v < Newest \/ ~Alive(n))
                                     /\ lease' = [lease EXCEPT ![n] = @ \ {v}]
              /\ UNCHANGED <<data, tx, act, dead>>
\* L8
SessionEnds(n) == lease[n] = {} /\ Abort(n) /\ UNCHANGED dead
\* L10: revoking a lease ends its sessions, too.
Revoke(n) == /\ lease[n] # {} /\ lease' = [lease EXCEPT ![n] = {}] /\ tx' = [tx EXCEPT ![n] = Idle]
             /\ UNCHANGED <<data, act, dead>>

Goes(n, action) == Alive(n) /\ action /\ UNCHANGED dead
LiveNext ==
  \/ \E n \in Node : \/ Goes(n, OfNode(n)) \/ RunsOut(n) \/ SessionEnds(n) \/ Revoke(n) \/ Dies(n)
                     \/ (Expire(n) /\ UNCHANGED dead)
  \/ (Publish \/ Drain \/ Reorganises) /\ UNCHANGED dead

Fair ==
  /\ WF_lvars((Publish \/ Drain) /\ UNCHANGED dead)
  /\ WF_lvars(Reorganises /\ UNCHANGED dead)
  /\ \A n \in Node :
       /\ WF_lvars(Goes(n, Commit(n) \/ Abort(n)))
       /\ WF_lvars(Goes(n, Acquire(n)))
       /\ Flaw("no-session-end") \/ WF_lvars(SessionEnds(n))
       /\ Flaw("no-expiry") \/ WF_lvars(RunsOut(n))
       /\ ~Flaw("revoked") \/ WF_lvars(Revoke(n))
LiveSpec == Init /\ dead = {} /\ [][LiveNext]_lvars /\ Fair
------------------------------------------------------------------------------
Ends == <>(todo = <<>>)
DeadShrinks == [][\A n \in dead : lease'[n] \subseteq lease[n]]_lvars
==============================================================================
