/* Does a server's lease end before its session can?
 *
 * One session, attached to a ZooKeeper server: a follower that may be cut off from its leader,
 * or a leader that may be deposed without knowing it (or a follower that goes with that one).
 * Time is counted in half ticks of ZooKeeper, by whole steps that everybody takes
 * together; what happens between two steps happens in any order. The server may be
 * paused at any moment for any time: it simply does nothing.
 *
 * What ZooKeeper 3.8 does (LearnerHandler, LeaderZooKeeperServer, LearnerSessionTracker):
 *  - a follower notes that it heard of a session, and tells so in its next answer to
 *    the leader's ping, which comes every half tick; only that restarts the time-out;
 *  - a sync goes to the leader and back in order with those answers, but restarts nothing;
 *  - the leader ends a session no sooner than a time-out after the last such news;
 *  - a leader that has lost its followers to another one answers syncs and reads until it finds
 *    out, and no write; the other one restarts all time-outs when it is elected.
 *
 * Tied to the code in docs/invariants.md. Switches, for mutants: PLAIN_READ, NO_MARGIN,
 * FROM_SEND_TIME, DRIFT_BEYOND, NO_WRITES.
 */
#define TICK 2             /* half ticks */
#ifndef TIMEOUT
#define TIMEOUT 8          /* of the session: 4 ticks */
#endif
#define DRIFT 1            /* how far the server's clock may fall behind in about a time-out */
#ifdef NO_MARGIN
#define LEASE TIMEOUT
#else
#define LEASE (TIMEOUT - 2 * TICK - DRIFT)
#endif
#define LONG (LEASE + TICK + 1)  /* ages above it are all the same */
#ifdef DRIFT_BEYOND
#define MAY_MISS steady > 0      /* every other step */
#else
#define MAY_MISS steady == TIMEOUT
#endif

#define WRITE_LEASE (TIMEOUT - DRIFT)

/* At ZooKeeper's leader. */
byte left = TIMEOUT;       /* until it may end the session */
bool ended = false;
/* At the server of ZooKeeper that ours talks to. */
bool cut = false;
bool deposed = false;      /* it leads, or follows who led, and another one was elected */
bool heard = false;        /* of the session, and not told yet */
bool pinged = false;       /* in this half tick */
/* At the server; ages on its clock, of times of sending. */
byte lease = 0;            /* left */
byte age = 0;              /* of the renewal that is out */
byte pending = 0;          /* of the oldest renewal that was answered and is not proven */
byte answered = 0;         /* of the answer to it */
byte proven = 0;           /* of the newest one that the leader is known to have heard of */
byte written = 0;          /* of the newest one that was answered and had a write in it */
byte steady = TIMEOUT;     /* since its clock last missed a step */
/* The renewal that is out. */
#define IDLE 0
#define SENT 1             /* on its way to the follower */
#define ASKED 2            /* the follower has asked its leader for the sync */
#define SYNCED 3           /* the leader has answered, and the live node was there */
byte renewal = IDLE;
bool writes = false;       /* it has a write in it, which goes before the sync */

#define OLDER(a) a = (a < LONG -> a + 1 : a)
#ifdef NO_WRITES
#define WITHIN_WRITE(lease) (lease)
#else
/* When the write was made, nobody else led: whoever was elected later gave a whole time-out. */
#define WITHIN_WRITE(lease) \
  (written >= WRITE_LEASE -> 0 : ((lease) < WRITE_LEASE - written -> (lease) : WRITE_LEASE - written))
#endif

inline GrantLease() {
  /* A renewal proves the one that was answered more than half a tick before it was sent:
     a ping lies between. */
  if
  :: answered > age + TICK / 2 -> proven = pending; pending = age; answered = 0
  :: else
  fi;
#ifdef FROM_SEND_TIME
  from = age;
#else
  from = (proven > age + TICK -> proven - TICK : age);
#endif
  if
  :: writes -> written = age; writes = false
  :: else
  fi;
  if
  :: from < LEASE && WITHIN_WRITE(LEASE - from) > lease -> lease = WITHIN_WRITE(LEASE - from)
  :: else
  fi;
  assert(!(ended && lease > 0))
}

active proctype Server() {
  byte from;
  do
  :: atomic { renewal == IDLE && !ended -> renewal = SENT; age = 0 }
#ifndef NO_WRITES
  :: atomic { renewal == IDLE && !ended -> renewal = SENT; age = 0; writes = true }
#endif
#ifdef PLAIN_READ
  /* The follower answers from what it has: cut off, it does not know of the end. */
  :: d_step { renewal == SENT && (cut || !ended) -> heard = true; GrantLease(); renewal = IDLE; from = 0 }
#endif
  :: d_step { renewal == SYNCED -> GrantLease(); renewal = IDLE; from = 0; age = 0 }
  od
}

active proctype Follower() {
  do
  :: atomic { renewal == SENT -> heard = true; renewal = ASKED }
  :: atomic { renewal == ASKED && !cut && !deposed && !ended -> renewal = SYNCED }
  /* Nobody there knows of another leader, nor of the end of the session. */
  :: atomic { renewal == ASKED && !cut && deposed && !writes -> renewal = SYNCED }
  :: atomic { renewal == ASKED && (cut || deposed || ended) -> renewal = IDLE; age = 0; writes = false }
  :: atomic { !cut && !pinged -> pinged = true; if :: heard && !deposed && !ended -> left = TIMEOUT; heard = false :: else fi }
  :: atomic { !cut -> cut = true }
  :: atomic { !cut && !deposed && !ended -> deposed = true; heard = false; left = TIMEOUT }
  /* Ours finds another follower, which presents the session to the leader. */
  :: atomic { cut && !ended -> cut = false; deposed = false; pinged = true; heard = false; left = TIMEOUT }
  od
}

active proctype Leader() {
  do
  :: atomic { left == 0 && !ended -> ended = true; assert(lease == 0) }
  od
}

active proctype Time() {
  do
  :: atomic {
       cut || pinged ->  /* as long as they are connected, pings come in time */
       pinged = false;
       left = (left > 0 -> left - 1 : 0);
       if
       :: lease = (lease > 0 -> lease - 1 : 0);
          age = (renewal == IDLE || age == LONG -> age : age + 1);
          OLDER(pending); OLDER(answered); OLDER(proven);
          written = (written < WRITE_LEASE -> written + 1 : written);
          steady = (steady == TIMEOUT -> steady : steady + 1)
       :: MAY_MISS -> steady = 0  /* its clock misses this one */
       fi
     }
  od
}
