/* At most one primary, and in the end one: the protocol of leases, epochs, failover and
 * moves between two servers, one shard and two control-plane processes.
 *
 * Each atomic step is one that the code makes at once: a multi that ZooKeeper applies, a
 * command that arrives, a look that a leader takes. Everything between the steps may be
 * delayed as long as you like, lost, or come after its sender has been deposed or has
 * crashed. Faults come at any moment; only their number is bounded.
 *
 * The lease is a yes or no here. That ZooKeeper ends a session only when the lease under
 * it is over is the promise that lease.pml proves, about the same library in half ticks.
 *
 * Checked: invariant A (assert), and progress: where nothing more can happen, one server
 * serves (the process Rest), and there is no endless run (pan -l). Switches: HANDOVER (the
 * graceful handover instead of the basic move, with one request that is forwarded and may
 * arrive at any time later); and for mutants: NO_LEASE_MARGIN, NO_LEASE, NO_FENCE,
 * NO_REGISTRATION_CHECK, ACT_BEFORE_PERSIST, NO_EPOCH_CHECK, DROP_BEFORE_ACK,
 * READ_BEFORE_REGISTERING, TWO_SESSIONS; of the handover: FORWARD_WITHOUT_DRAIN,
 * REOPENS_AFTER_HANDOVER, SERVES_WHILE_PREPARING, FORWARDS_TO_ANYBODY,
 * LEAVES_OPEN_ACROSS_LIVES, OLD_READ_REVIVES, FORGETS_CALL_OFF. Tied to the code in docs/invariants.md.
 */
#ifndef FAULTS
#define FAULTS 2      /* crashes, lapses, lost and repeated commands, depositions */
#endif
#ifndef ELECTIONS
#define ELECTIONS 2
#endif
#ifndef MOVES
#define MOVES 1
#endif
#ifndef SLOW
#define SLOW 1        /* requests that take too long for a server to let go */
#endif
#define NOBODY 2
#define CONFLICTED 2  /* neither lost nor seen: it came back during a failover */

/* Phases of a replica in the stored assignments (src/model/replica_phase.h). */
#define ABSENT 0
#define RESERVED 1
#define GRANTED 2
#define DROPPING 3
#define PREPARING 4   /* handover: Q loads, and processes what P forwards */
#define FORWARDING 5  /* handover: P lets go, and forwards */

/* What a server's process does with the shard. */
#define NOTHING 0
#define SERVES 1
#define PREPARED 2
#define FORWARDS 3
#define LEAVES 4      /* told to let go, and open until the application is ready for it */

/* Commands. */
#define SILENT 0
#define ADD 1
#define DROP 2
#define PREPARE_ADD 3
#define PREPARE_DROP 4
#define DONE(kind) (kind + 4)     /* the answer on its way back */
#define REFUSED(kind) (kind + 8)
#define OVERTAKEN 13              /* to ADD: the server has seen that this grant is over */
#define CALLED_OFF 14             /* to PREPARE_DROP: it serves on */

typedef Pair { byte at[2] }  /* one value for each server */

/* ---- ZooKeeper ---- */
byte epoch_now = 0;          /* the leader epoch */
byte holder = NOBODY;        /* the process whose election node stands */
byte registration[2];        /* version of the server's node */
byte live[2];                /* the incarnation of the live node; 0: none */
byte phase[2];
byte grant[2];               /* the shard epoch in the assignment */

/* ---- servers ---- */
bool up[2];
byte life[2];                /* incarnation; 0: not registered */
byte member[2];              /* 1: its assignment was read since, 2: and has arrived */
byte read_phase[2];          /* what was read */
byte read_grant[2];
bool came[2];                /* the newest grant came in this life, before what was read */
bool lease[2];
bool lapsed[2];              /* since it was renewed last */
byte does[2];
byte seen[2];                /* highest shard epoch */
bool dropped[2];             /* and it is known to be over */
byte seen_leader[2];         /* highest leader epoch */
byte successor[2];           /* forwards to this grant of the other server */
byte off[2];                 /* never lets go for this grant of the other server, or an older one */

/* ---- control-plane processes ---- */
bool leads[2];               /* as it believes */
byte epoch[2];
byte grants[2];              /* given in this epoch */
Pair v_phase[2];             /* its view of the assignments */
Pair v_grant[2];
Pair v_registration[2];      /* and of the servers */
Pair v_lost[2];
Pair v_done[2];              /* what its phase demands was answered: done */
bool refused[2];             /* look again before the next command */
/* The write that is out. */
bool w_out[2];
Pair w_phase[2];
Pair w_grant[2];
Pair w_check[2];             /* servers whose registrations are checked */
Pair w_version[2];
/* The command that is out, or its answer. */
byte c_kind[2];
byte c_to[2];
byte c_grant[2];
byte c_life[2];
byte c_epoch[2];
byte c_next[2];
/* One command that the network kept: late, or twice. */
byte z_kind, z_to, z_grant, z_life, z_epoch, z_next;
#ifdef HANDOVER
/* One request that was forwarded and is under way: to whom, to which grant of it. */
byte r_to = NOBODY;
byte r_grant;
bool r_spent;
#endif

byte faults = FAULTS;
byte elections = ELECTIONS;
byte moves = MOVES;
byte slow = SLOW;

#define OTHER(s) (1 - (s))
#ifdef NO_LEASE
#define LEASED(s) true
#else
#define LEASED(s) lease[s]
#endif
#define PROCESSES(s) (up[s] && LEASED(s) && (does[s] == SERVES || does[s] == LEAVES))
#define CHECK_A assert(!(PROCESSES(0) && PROCESSES(1)))

/* ================= servers ================= */

inline Unregistered(s) {
  life[s] = 0; member[s] = 0; lease[s] = false; lapsed[s] = false; came[s] = false;
  read_phase[s] = 0; read_grant[s] = 0
}

inline Quit(s) {  /* the process is gone, and what it knew */
  Unregistered(s); does[s] = NOTHING; seen[s] = 0; dropped[s] = false; seen_leader[s] = 0;
  successor[s] = 0; off[s] = 0
}

#ifdef NO_EPOCH_CHECK
#define OLD_LEADER(s, e) false
#define STALE_ADD(s, e) false
#define STALE_DROP(s, e) false
#else
#define OLD_LEADER(s, e) (e < seen_leader[s])
#define STALE_ADD(s, e) (e < seen[s] || (e == seen[s] && dropped[s]))
#define STALE_DROP(s, e) (e < seen[s] && !dropped[s])
#endif

#ifdef FORGETS_CALL_OFF
#define STAYS_OFF(s, next) false
#else
#define STAYS_OFF(s, next) (does[s] == SERVES && next <= off[s])
#endif

/* ShardBook::Come and Go, after CheckHeader. Loading takes no time of its own here. */
inline Carry(s, kind, with, next) {
  answer = DONE(kind);
  if
  :: kind == ADD && !STALE_ADD(s, with) ->
       does[s] = SERVES; seen[s] = with; dropped[s] = false; came[s] = (member[s] != 2); successor[s] = 0
#ifdef HANDOVER
  :: kind == PREPARE_ADD && !STALE_ADD(s, with) ->
#ifdef SERVES_WHILE_PREPARING
       does[s] = SERVES;
#else
       does[s] = (does[s] == SERVES && seen[s] == with -> SERVES : PREPARED);
#endif
       seen[s] = with; dropped[s] = false; came[s] = (member[s] != 2); successor[s] = 0
  :: kind == PREPARE_DROP && !STALE_DROP(s, with) && STAYS_OFF(s, next) -> answer = CALLED_OFF
  :: kind == PREPARE_DROP && !STALE_DROP(s, with) && !STAYS_OFF(s, next) ->
#ifndef FORWARD_WITHOUT_DRAIN
       if  /* what holds nothing (a new life) has nothing to forward */
       :: does[s] == NOTHING
       :: does[s] == FORWARDS -> successor[s] = next
       :: else -> does[s] = LEAVES; successor[s] = next; answer = SILENT  /* comes later */
       fi;
#endif
#ifndef REOPENS_AFTER_HANDOVER
       /* As after a drop: a late repeat of the grant must not open it again. */
       dropped[s] = true;
#endif
       seen[s] = (seen[s] > with -> seen[s] : with)
#endif
  :: kind == DROP && !STALE_DROP(s, with) ->
       does[s] = NOTHING; seen[s] = (seen[s] > with -> seen[s] : with); dropped[s] = true; successor[s] = 0
  :: else -> answer = (kind == ADD -> OVERTAKEN : REFUSED(kind))
  fi
}

/* What the stored record said when it was read (ShardBook::On(Assigned)): GRANTED serves.
   What came in a former life only is over, but for a handover to here, which is asked
   for again. What came in this life is newer than the record. */
#ifdef LEAVES_OPEN_ACROSS_LIVES
#define STAYS(s) (does[s] == LEAVES)
#else
#define STAYS(s) false
#endif
#ifdef OLD_READ_REVIVES
#define REVIVES(s, with) (with == seen[s])
#else
#define REVIVES(s, with) (with == seen[s] && !dropped[s] && !came[s])
#endif
inline Assigned(s, in, with) {
  if
  :: in == GRANTED && !STALE_ADD(s, with) ->
       does[s] = SERVES; seen[s] = with; dropped[s] = false; successor[s] = 0
  :: in == PREPARING && REVIVES(s, with) ->
       does[s] = (came[s] -> does[s] : NOTHING); dropped[s] = false
  :: else ->
       if
       :: came[s] || STAYS(s)
       :: else -> does[s] = NOTHING; dropped[s] = (seen[s] > 0); successor[s] = 0
       fi
  fi;
  came[s] = false
}

/* A server that is leaving answers when it has left. */
#define LEAVING(s, for_life) (up[s] && life[s] == for_life && does[s] == LEAVES)

inline Arrive(s, l) {
  if  /* the network may keep one to bring it again */
  :: faults > 0 && z_kind == SILENT && up[s] ->
       z_kind = c_kind[l]; z_to = s; z_grant = c_grant[l]; z_life = c_life[l]; z_epoch = c_epoch[l];
       z_next = c_next[l]; faults--
  :: true
  fi;
  if
  :: !up[s] || life[s] == 0 || c_life[l] != life[s] || OLD_LEADER(s, c_epoch[l]) -> c_kind[l] = REFUSED(c_kind[l])
  :: else ->
       seen_leader[s] = c_epoch[l]; Carry(s, c_kind[l], c_grant[l], c_next[l]);
       if :: answer != SILENT -> c_kind[l] = answer :: else fi
  fi;
  answer = 0; CHECK_A
}

#ifdef FORWARDS_TO_ANYBODY
#define MEANT(s) true
#else
#define MEANT(s) (r_grant == seen[s])
#endif

proctype Server(byte s) {
  byte answer;
  do
  /* Membership: no life of that name stands any more; one multi. Then sync, and read. */
  :: atomic { up[s] && life[s] == 0 && live[s] == 0 ->
       registration[s]++; live[s] = registration[s]; life[s] = registration[s];
#ifdef READ_BEFORE_REGISTERING
       member[s] = 2  /* on what it read before */
#endif
     }
#ifdef READ_BEFORE_REGISTERING
  :: atomic { up[s] && life[s] == 0 && !lapsed[s] && does[s] == NOTHING && phase[s] == GRANTED ->
       Assigned(s, phase[s], grant[s]); CHECK_A }
#else
  /* Commands are obeyed from the registration on: what was read may be older. */
  :: atomic { up[s] && life[s] != 0 && member[s] == 0 && live[s] == life[s] ->
       member[s] = 1; read_phase[s] = phase[s]; read_grant[s] = grant[s] }
  :: atomic { up[s] && life[s] != 0 && member[s] == 1 ->
       member[s] = 2; Assigned(s, read_phase[s], read_grant[s]); read_phase[s] = 0; read_grant[s] = 0; CHECK_A }
#endif
  /* A renewal: a sync, then its own live node is read, and is there. */
  :: atomic { up[s] && member[s] == 2 && !lease[s] && live[s] == life[s] ->
       lease[s] = true; lapsed[s] = false; CHECK_A }
  /* The session has ended, and the server learns it; its lease is over before (lease.pml). */
  :: atomic { up[s] && life[s] != 0 && live[s] != life[s] ->
       Unregistered(s) }
  /* A command of either process, or one that the network kept. */
  :: atomic { c_kind[0] >= ADD && c_kind[0] <= PREPARE_DROP && c_to[0] == s && !LEAVING(s, c_life[0]) -> Arrive(s, 0) }
  :: atomic { c_kind[1] >= ADD && c_kind[1] <= PREPARE_DROP && c_to[1] == s && !LEAVING(s, c_life[1]) -> Arrive(s, 1) }
  :: atomic { z_kind != SILENT && z_to == s && !LEAVING(s, z_life) ->
       if
       :: !up[s] || life[s] == 0 || z_life != life[s] || OLD_LEADER(s, z_epoch)
       :: else -> seen_leader[s] = z_epoch; Carry(s, z_kind, z_grant, z_next)
       fi;
       z_kind = SILENT; z_to = 0; z_grant = 0; z_life = 0; z_epoch = 0; z_next = 0; answer = 0; CHECK_A }
#ifdef HANDOVER
  /* The application is ready, no request runs, it was dropped; or requests take too long,
     which is why it serves on, and says so. */
  :: atomic { up[s] && does[s] == LEAVES -> does[s] = FORWARDS }
  :: atomic { up[s] && life[s] != 0 && does[s] == LEAVES && slow > 0 ->
       slow--; does[s] = SERVES; dropped[s] = false; off[s] = successor[s]; successor[s] = 0;
       if :: c_kind[0] == PREPARE_DROP && c_to[0] == s && c_life[0] == life[s] -> c_kind[0] = CALLED_OFF :: else fi;
       if :: c_kind[1] == PREPARE_DROP && c_to[1] == s && c_life[1] == life[s] -> c_kind[1] = CALLED_OFF :: else fi;
       CHECK_A }
  /* A request is forwarded, and arrives. */
  :: atomic { up[s] && LEASED(s) && does[s] == FORWARDS && !r_spent ->
       r_spent = true; r_to = OTHER(s); r_grant = successor[s] }
  :: atomic { r_to == s ->
       if
       :: up[s] && LEASED(s) && does[s] == PREPARED && MEANT(s) -> assert(!PROCESSES(OTHER(s)))
       :: else
       fi;
       r_to = NOBODY; r_grant = 0 }
#endif
  /* Faults. */
  :: atomic { up[s] && faults > 0 -> faults--; up[s] = false; Quit(s) }
  :: atomic { !up[s] -> up[s] = true }
  :: atomic { up[s] && life[s] != 0 && !lapsed[s] && faults > 0 -> faults--; lease[s] = false; lapsed[s] = true }
  od
}

/* ================= ZooKeeper ================= */

#ifdef NO_LEASE_MARGIN
#define MAY_END(s) (live[s] != 0 && (live[s] != life[s] || faults > 0))
#else
#define MAY_END(s) (live[s] != 0 && (live[s] != life[s] || lapsed[s]))
#endif

#ifdef NO_FENCE
#define FENCED(l) false
#else
#define FENCED(l) (epoch[l] != epoch_now)
#endif
#ifdef NO_REGISTRATION_CHECK
#define CAME_BACK(l, s) false
#else
#define CAME_BACK(l, s) (w_check[l].at[s] && registration[s] != w_version[l].at[s])
#endif

inline See(l, s) {  /* what the watches tell, now */
  v_lost[l].at[s] = (live[s] == 0); v_registration[l].at[s] = registration[s]; v_done[l].at[s] = 0
}

inline StepDown(l) {
  leads[l] = false; v_done[l].at[0] = 0; v_done[l].at[1] = 0; refused[l] = false; grants[l] = 0; epoch[l] = 0;
  v_phase[l].at[0] = 0; v_phase[l].at[1] = 0; v_grant[l].at[0] = 0; v_grant[l].at[1] = 0;
  v_registration[l].at[0] = 0; v_registration[l].at[1] = 0; v_lost[l].at[0] = 0; v_lost[l].at[1] = 0
}

inline NoWrite(l) {
  w_out[l] = false; w_phase[l].at[0] = 0; w_phase[l].at[1] = 0; w_grant[l].at[0] = 0; w_grant[l].at[1] = 0;
  w_check[l].at[0] = 0; w_check[l].at[1] = 0; w_version[l].at[0] = 0; w_version[l].at[1] = 0
}

inline Written(l, s) {  /* what is demanded of it is another thing now */
  if :: v_phase[l].at[s] != phase[s] || v_grant[l].at[s] != grant[s] -> v_done[l].at[s] = 0 :: else fi;
  v_phase[l].at[s] = phase[s]; v_grant[l].at[s] = grant[s]
}

/* A multi is applied, or refused; in the same step its sender learns it, if it is there
   still: an answer that comes later is like a write that is applied later. */
inline ApplyWrite(l) {
  if
  :: FENCED(l) -> if :: leads[l] -> StepDown(l) :: else fi
  :: !FENCED(l) && CAME_BACK(l, 0) -> if :: leads[l] -> v_lost[l].at[0] = CONFLICTED :: else fi
  :: !FENCED(l) && !CAME_BACK(l, 0) && CAME_BACK(l, 1) -> if :: leads[l] -> v_lost[l].at[1] = CONFLICTED :: else fi
  :: else ->
       phase[0] = w_phase[l].at[0]; phase[1] = w_phase[l].at[1];
       grant[0] = w_grant[l].at[0]; grant[1] = w_grant[l].at[1];
       if
       :: leads[l] ->
            Written(l, 0); Written(l, 1)
       :: else
       fi
  fi;
  NoWrite(l)
}

proctype ZooKeeper() {
  do
  :: atomic { MAY_END(0) -> live[0] = 0
#ifdef NO_LEASE_MARGIN
       ; if :: life[0] != 0 && !lapsed[0] && faults > 0 -> faults-- :: else fi
#endif
     }
  :: atomic { MAY_END(1) -> live[1] = 0
#ifdef NO_LEASE_MARGIN
       ; if :: life[1] != 0 && !lapsed[1] && faults > 0 -> faults-- :: else fi
#endif
     }
  :: atomic { w_out[0] -> ApplyWrite(0) }
  :: atomic { w_out[1] -> ApplyWrite(1) }
  od
}

/* ================= the control plane ================= */

/* Reads everything back: a successor goes on where the last one stopped. */
inline Recover(l) {
  v_phase[l].at[0] = phase[0]; v_phase[l].at[1] = phase[1];
  v_grant[l].at[0] = grant[0]; v_grant[l].at[1] = grant[1];
  See(l, 0); See(l, 1); refused[l] = false; grants[l] = 0
}

inline Begin(l) {  /* a write of what stands, to be changed */
  w_out[l] = true;
  w_phase[l].at[0] = v_phase[l].at[0]; w_phase[l].at[1] = v_phase[l].at[1];
  w_grant[l].at[0] = v_grant[l].at[0]; w_grant[l].at[1] = v_grant[l].at[1]
}
inline Set(l, s, p) { w_phase[l].at[s] = p; if :: p == ABSENT -> w_grant[l].at[s] = 0 :: else fi }
inline Grant(l, s, p) { grants[l]++; w_phase[l].at[s] = p; w_grant[l].at[s] = epoch[l] * 8 + grants[l] }
inline Check(l, s) { w_check[l].at[s] = true; w_version[l].at[s] = v_registration[l].at[s] }

#define P(s) v_phase[l].at[s]
#define LOST(s) (v_lost[l].at[s] != 0)  /* or it came back, and is to be seen yet */
#define GONE(s) (v_lost[l].at[s] == 1)
#define ANSWERED(s) (v_done[l].at[s] == 1)
#define SERVES_ON(s) (v_done[l].at[s] == 2)
#define IS_OVER(s) (v_done[l].at[s] == 3)

#define FREE (!w_out[l])
#define QUIET (c_kind[l] == SILENT && !refused[l])
#ifdef ACT_BEFORE_PERSIST
#define PLANNED(l, s) (w_out[l] -> w_grant[l].at[s] : v_grant[l].at[s])
#define MAY_ADD(s) ((FREE && P(s) == GRANTED) || (w_out[l] && w_phase[l].at[s] == GRANTED))
#else
#define PLANNED(l, s) v_grant[l].at[s]
#define MAY_ADD(s) (FREE && P(s) == GRANTED)
#endif
#ifdef DROP_BEFORE_ACK
#define STOPPED(s) true
#else
#define STOPPED(s) ANSWERED(s)
#endif

inline Send(l, kind, s) {
  c_kind[l] = kind; c_to[l] = s; c_grant[l] = PLANNED(l, s);
  c_life[l] = v_registration[l].at[s]; c_epoch[l] = epoch[l];
  c_next[l] = (kind == PREPARE_DROP -> v_grant[l].at[1 - s] : 0)
}

/* What the phases ask for next, for the server s and the other one, o. From the view
   alone (level-triggered): Partition::Decide, DecideHandover, Stage, Command. */
#define RULES(s, o) \
  :: atomic { leads[l] && FREE && GONE(s) && !LOST(o) && (P(s) == GRANTED || P(s) == DROPPING) && (P(o) == ABSENT || P(o) == RESERVED) -> \
       Begin(l); Set(l, s, ABSENT); Grant(l, o, GRANTED); Check(l, s) } \
  :: atomic { leads[l] && FREE && !LOST(s) && P(s) == ABSENT && P(o) == ABSENT -> \
       Begin(l); Grant(l, s, GRANTED) } \
  :: atomic { leads[l] && QUIET && !LOST(s) && MAY_ADD(s) && !ANSWERED(s) && !IS_OVER(s) -> Send(l, ADD, s) } \
  /* It needs a new grant: this one ends first. */ \
  :: atomic { leads[l] && FREE && !LOST(s) && P(s) == GRANTED && IS_OVER(s) && (P(o) == ABSENT || P(o) == DROPPING) -> \
       Begin(l); Set(l, s, DROPPING) } \
  BASIC_RULES(s, o) HANDOVER_RULES(s, o)

#ifdef HANDOVER
#define BASIC_RULES(s, o)
/* s is the old owner (P), o the new one (Q). */
#define HANDOVER_RULES(s, o) \
  /* 1: Q prepares. */ \
  :: atomic { leads[l] && FREE && moves > 0 && !LOST(o) && P(s) == GRANTED && P(o) == ABSENT -> \
       moves--; Begin(l); Grant(l, o, PREPARING) } \
  :: atomic { leads[l] && FREE && QUIET && !LOST(o) && (P(s) == GRANTED || P(s) == FORWARDING) && P(o) == PREPARING && !ANSWERED(o) -> \
       Send(l, PREPARE_ADD, o) } \
  /* It cannot (a server says so, how often does not matter): called off. */ \
  :: atomic { leads[l] && FREE && !GONE(s) && !GONE(o) && P(s) == GRANTED && P(o) == PREPARING && !ANSWERED(o) -> \
       Begin(l); Set(l, o, DROPPING) } \
  /* 2: P stops, and forwards. */ \
  :: atomic { leads[l] && FREE && !GONE(s) && !GONE(o) && P(s) == GRANTED && P(o) == PREPARING && ANSWERED(o) -> \
       Begin(l); Set(l, s, FORWARDING) } \
  :: atomic { leads[l] && FREE && QUIET && !LOST(s) && P(s) == FORWARDING && P(o) == PREPARING && !ANSWERED(s) && !SERVES_ON(s) -> \
       Send(l, PREPARE_DROP, s) } \
  /* P cannot: called off. */ \
  :: atomic { leads[l] && FREE && !GONE(s) && P(s) == FORWARDING && P(o) == PREPARING && SERVES_ON(s) -> \
       Begin(l); Set(l, s, GRANTED); \
       if :: GONE(o) -> Set(l, o, ABSENT); Check(l, o) :: else -> Set(l, o, DROPPING) fi } \
  /* 3: Q serves. It need not be prepared any more: then it loads. */ \
  :: atomic { leads[l] && FREE && !GONE(s) && !GONE(o) && P(s) == FORWARDING && P(o) == PREPARING && STOPPED(s) -> \
       Begin(l); Set(l, s, DROPPING); Set(l, o, GRANTED) } \
  /* 5: P forgets, once Q serves. Also: a drop for any other reason. */ \
  :: atomic { leads[l] && FREE && QUIET && !LOST(s) && P(s) == DROPPING && !ANSWERED(s) && (P(o) != GRANTED || ANSWERED(o) || LOST(o)) -> \
       Send(l, DROP, s) } \
  :: atomic { leads[l] && FREE && P(s) == DROPPING && (ANSWERED(s) || GONE(s)) -> \
       Begin(l); Set(l, s, ABSENT); if :: GONE(s) -> Check(l, s) :: else fi } \
  /* P is lost on the way: Q has it, under the epoch that it has. */ \
  :: atomic { leads[l] && FREE && GONE(s) && !GONE(o) && (P(s) == GRANTED || P(s) == FORWARDING) && P(o) == PREPARING -> \
       Begin(l); Set(l, s, ABSENT); Set(l, o, GRANTED); Check(l, s) } \
  /* Q is lost before P was told to let go: nothing has happened. After: P stops, and the \
     shard is placed anew, for Q may have processed what P forwarded. */ \
  :: atomic { leads[l] && FREE && GONE(o) && P(s) == GRANTED && P(o) == PREPARING -> \
       Begin(l); Set(l, o, ABSENT); Check(l, o) } \
  :: atomic { leads[l] && FREE && GONE(o) && P(s) == FORWARDING && P(o) == PREPARING -> \
       Begin(l); Set(l, o, ABSENT); Check(l, o); \
       if :: GONE(s) -> Set(l, s, ABSENT); Check(l, s) :: else -> Set(l, s, DROPPING) fi }
#else
#define HANDOVER_RULES(s, o)
#define BASIC_RULES(s, o) \
  :: atomic { leads[l] && FREE && moves > 0 && !LOST(s) && !LOST(o) && P(s) == GRANTED && P(o) == ABSENT && ANSWERED(s) -> \
       moves--; Begin(l); Set(l, s, DROPPING); Set(l, o, RESERVED) } \
  :: atomic { leads[l] && FREE && QUIET && !LOST(s) && P(s) == DROPPING && !ANSWERED(s) -> Send(l, DROP, s) } \
  :: atomic { leads[l] && FREE && P(s) == DROPPING && !LOST(s) && STOPPED(s) && P(o) == RESERVED && !LOST(o) -> \
       Begin(l); Set(l, s, ABSENT); Grant(l, o, GRANTED) } \
  :: atomic { leads[l] && FREE && P(s) == DROPPING && !LOST(s) && ANSWERED(s) && (P(o) == ABSENT || LOST(o)) -> \
       Begin(l); Set(l, s, ABSENT); Set(l, o, ABSENT) }
#endif

/* Does the answer belong to what is demanded of a replica in this phase? */
#define DEMANDED(p, k, OF) ((p == GRANTED && k == OF(ADD)) || (p == DROPPING && k == OF(DROP)) || \
  (p == PREPARING && k == OF(PREPARE_ADD)) || (p == FORWARDING && k == OF(PREPARE_DROP)))

#ifdef TWO_SESSIONS
#define SEES(l) true
#else
#define SEES(l) (epoch[l] == epoch_now && holder == l)
#endif

proctype Leader(byte l) {
  do
  :: atomic { !leads[l] && !w_out[l] && holder == NOBODY && elections > 0 ->
       elections--; holder = l; epoch_now++; epoch[l] = epoch_now; leads[l] = true; Recover(l);
       if  /* a command of its former epoch is on its way still, or lost */
       :: c_kind[l] != SILENT && z_kind == SILENT && c_kind[l] <= PREPARE_DROP ->
            z_kind = c_kind[l]; z_to = c_to[l]; z_grant = c_grant[l]; z_life = c_life[l]; z_epoch = c_epoch[l];
            z_next = c_next[l]
       :: true
       fi;
       c_kind[l] = SILENT; c_to[l] = 0; c_grant[l] = 0; c_life[l] = 0; c_epoch[l] = 0; c_next[l] = 0 }
  /* A watch fires: only where there is news, and only while its session stands, which is
     the one that holds the election: ZooKeeper shows no later state to an ended one. */
  :: atomic { leads[l] && SEES(l) && (v_lost[l].at[0] != (live[0] == 0) || v_registration[l].at[0] != registration[0]) ->
       See(l, 0); refused[l] = false }
  :: atomic { leads[l] && SEES(l) && (v_lost[l].at[1] != (live[1] == 0) || v_registration[l].at[1] != registration[1]) ->
       See(l, 1); refused[l] = false }
  /* Answers. One that is not of this stage any more is ignored. */
  :: atomic { c_kind[l] > PREPARE_DROP ->
       if
       :: leads[l] && c_epoch[l] == epoch[l] && c_life[l] == v_registration[l].at[c_to[l]] &&
          c_grant[l] == v_grant[l].at[c_to[l]] && !v_lost[l].at[c_to[l]] ->
            if
            :: c_kind[l] == CALLED_OFF && v_phase[l].at[c_to[l]] == FORWARDING -> v_done[l].at[c_to[l]] = 2
            :: c_kind[l] == OVERTAKEN && v_phase[l].at[c_to[l]] == GRANTED -> v_done[l].at[c_to[l]] = 3
            :: DEMANDED(v_phase[l].at[c_to[l]], c_kind[l], DONE) -> v_done[l].at[c_to[l]] = 1
            :: DEMANDED(v_phase[l].at[c_to[l]], c_kind[l], REFUSED) -> refused[l] = true
            :: else
            fi
       :: else
       fi;
       c_kind[l] = SILENT; c_to[l] = 0; c_grant[l] = 0; c_life[l] = 0; c_epoch[l] = 0; c_next[l] = 0 }
  RULES(0, 1)
  RULES(1, 0)
  /* It hears that it leads no more. */
  :: atomic { leads[l] && (epoch[l] != epoch_now || holder != l) -> StepDown(l) }
  /* Faults: a command is lost; the session of the election ends; the process crashes. */
  :: atomic { c_kind[l] != SILENT && c_kind[l] <= PREPARE_DROP && faults > 0 ->
       faults--; c_kind[l] = SILENT; c_to[l] = 0; c_grant[l] = 0; c_life[l] = 0; c_epoch[l] = 0; c_next[l] = 0 }
  :: atomic { holder == l && faults > 0 && elections > 0 -> faults--; holder = NOBODY }
  :: atomic { leads[l] && holder == l && faults > 0 && elections > 0 -> faults--; holder = NOBODY; StepDown(l) }
  od
}

/* Where nothing more can happen. */
proctype Rest() {
  atomic { timeout -> assert(PROCESSES(0) || PROCESSES(1)) }
}

init {
  atomic { up[0] = true; up[1] = true; run ZooKeeper(); run Server(0); run Server(1); run Leader(0); run Leader(1); run Rest() }
}
