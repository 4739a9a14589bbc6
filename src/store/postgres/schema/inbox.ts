import { indexLookupSettings, refusalStates } from './common.js'

// Subtracted from the arrivals of requests whose transaction is open. It makes them negative.
const PROVISIONAL_OFFSET = '4611686018427387904'

/**
 * Finds a row if the deadline of the request `r` is not after the latest one that its shard has forgotten. `heartbeat`
 * keeps that deadline as the answer to the empty id.
 */
const forgotten = `select 1 from S.answer a where a.id = '' and a.shard + 0 = r.shard and a.deadline + 0 >= r.deadline offset 0`

/**
 * Appends requests. It locks nothing but their ids. It first inserts them and then looks for their answers: if the
 * insert waited for an owner that was just answering the same request, the answer is visible by then. One statement
 * looks for the answer and for the forgotten deadline, so it sees one of the two.
 * Returns 0 for appended, 1 for answered before, 2 for expired.
 *
 * `append` commits with its statement, so the request gets its arrival at once. With `append_with`, in a transaction of
 * the caller, the arrival is provisional and negative until `take_place` runs at the commit.
 */
const appendFunction = (name: string, arrival: string): string => `
create or replace function S.${name}(
  p_now bigint, r_shard bigint[], r_id text[], r_deadline bigint[], r_operation text[], r_payload bytea[],
  r_name_hash bigint[],
  out answers bigint[]
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  v_now bigint := S.now_ms(p_now);
  v_put text[];
begin
  with put as (
    insert into S.inbox as i (shard, id, arrival, deadline, operation, payload, name_hash)
    select r.shard, r.id, ${arrival}, r.deadline, r.operation, r.payload, r.name_hash
    from (
      select * from unnest(r_shard, r_id, r_deadline, r_operation, r_payload, r_name_hash)
        with ordinality as r(shard, id, deadline, operation, payload, name_hash, n) order by n
    ) r
    where r.deadline > v_now
    on conflict (shard, id) do nothing
    returning i.shard || '/' || i.id as name
  ) select array_agg(name) into v_put from put;
  if exists (
    select 1 from unnest(r_shard, r_id) as r(shard, id)
    cross join lateral (select 1 from S.answer a where a.id = r.id and a.shard + 0 = r.shard offset 0) a
  ) or exists (
    select 1 from (select shard, min(deadline) as deadline from unnest(r_shard, r_deadline) as r(shard, deadline) group by 1) r
    cross join lateral (${forgotten}) a
  ) then
    delete from S.inbox i where i.ctid = any (array(
      select i.tid from unnest(r_shard, r_id, r_deadline) as r(shard, id, deadline)
      cross join lateral (
        select 1 from (
          (select 1 from S.answer a where a.id = r.id and a.shard + 0 = r.shard offset 0)
          union all (${forgotten})
        ) a limit 1
      ) a
      cross join lateral (
        select i.ctid as tid from S.inbox i where i.id = r.id and i.shard + 0 = r.shard offset 0
      ) i
      where r.shard || '/' || r.id = any (v_put)
    ));
  end if;
  select array_agg(case
      when a.deadline > v_now then 1
      when a.deadline is null and i.id is not null then 0
      else 2
    end::bigint) into answers
  from unnest(r_shard, r_id) with ordinality as r(shard, id, n)
  left join lateral (
    select a.deadline from S.answer a where a.id = r.id and a.shard + 0 = r.shard offset 0
  ) a on true
  left join lateral (select i.id from S.inbox i where i.id = r.id and i.shard + 0 = r.shard offset 0) i on true;
end $$;`

/** Reads the oldest requests of a shard, for its owner. */
const requestsFunction = `
create or replace function S.requests(
  p_shard integer, p_epoch bigint, p_nonce bigint, p_settled_position bigint, p_settled_revision bigint,
  p_limit bigint,
  out ids text[], out deadlines bigint[], out operations text[], out payloads bytea[]
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  s S.shard;
begin
  s := S.fenced_shard(p_shard, p_epoch, p_nonce, p_settled_position, p_settled_revision);
  select array_agg(i.id::text), array_agg(i.deadline), array_agg(i.operation), array_agg(i.payload)
    into ids, deadlines, operations, payloads
  from (select * from S.inbox i where i.shard = p_shard order by i.shard, i.arrival limit p_limit) i;
end $$;`

/**
 * Finds a set for the name of `r`, or a request of an older version, whose name is not known. `others` leaves some out.
 */
const waits = (others = ''): string => `(
    exists (select 1 from S.inbox i where i.name_hash = r.name_hash and i.shard + 0 = r.shard ${others} offset 0)
    or exists (select 1 from S.inbox i where i.name_hash is null offset 0)
  )`

/**
 * Whether each request waits, while no other set of its name does and no timer has its name. It must not be a part of
 * `append`: two appends of one name would not see each other before they are committed.
 */
const areFreeFunction = `
create or replace function S.are_free(
  r_shard bigint[], r_id text[], r_name_hash bigint[], r_namespace text[], r_kind text[], r_key text[],
  out are_free bigint[]
) language plpgsql stable${indexLookupSettings} as $$
#variable_conflict use_column
begin
  select array_agg((
      exists (select 1 from S.inbox i where i.id = r.id and i.shard + 0 = r.shard offset 0)
      and not ${waits('and i.id <> r.id')}
      and not exists (
        select 1 from S.timer t, S.shard s
        where t.key = r.key and t.kind = r.kind and t.namespace = r.namespace and t.shard + 0 = r.shard
          and s.shard = r.shard
          and (t.position + 0, t.revision) >= (s.settled_position, s.settled_revision)
        offset 0
      )
    )::integer::bigint order by r.n) into are_free
  from unnest(r_shard, r_id, r_name_hash, r_namespace, r_kind, r_key)
    with ordinality as r(shard, id, name_hash, namespace, kind, key, n);
end $$;`

const areWaitingFunction = `
create or replace function S.are_waiting(r_shard bigint[], r_name_hash bigint[], out are_waiting bigint[])
language plpgsql stable${indexLookupSettings} as $$
#variable_conflict use_column
begin
  select array_agg(${waits()}::integer::bigint order by r.n) into are_waiting
  from unnest(r_shard, r_name_hash) with ordinality as r(shard, name_hash, n);
end $$;`

/** Requests have the hash of the name that they set; -1 if they are no sets. */
export const inboxNames = `
alter table S.inbox add column name_hash bigint;
create index inbox_name on S.inbox (name_hash);
drop function if exists S.append(bigint, bigint[], text[], bigint[], text[], bytea[]);
drop function if exists S.append_with(bigint, bigint[], text[], bigint[], text[], bytea[]);`

/**
 * Gives the requests of a transaction their arrivals at its commit, in the order of its calls. A deferred trigger runs
 * it then. With `nextval` at the insert, the transaction would come before everything that was acknowledged while it
 * was open. The first row of a shard does it for all rows of the shard. Provisional rows of other transactions are not
 * visible here.
 *
 * PREPARE TRANSACTION runs the trigger, too. PostgreSQL would refuse it a little later because of the NOTIFY, but would
 * not say what to do.
 */
const takePlaceFunction = `
create or replace function S.take_place() returns trigger language plpgsql volatile${indexLookupSettings} as $$
begin
  if current_query() ~* '^([[:space:]]|/[*]([^*]|[*]+[^*/])*[*]+/|--[^\n]*\n)*prepare[[:space:]]+transaction' then
    raise exception using errcode = '${refusalStates['two-phase-commit']}',
      message = 'two-phase-commit: a transaction in which Carillon set timers cannot be prepared',
      hint = 'End it with COMMIT, or set the timers after the second phase.';
  end if;
  if exists (select 1 from S.inbox i where i.id = new.id and i.shard + 0 = new.shard and i.arrival + 0 < 0) then
    update S.inbox i set arrival = o.arrival
    from (
      select o.tid, nextval('S.arrival') as arrival from (
        select i.ctid as tid from S.inbox i where i.shard = new.shard and i.arrival < 0 order by i.shard, i.arrival
      ) o
    ) o where i.ctid = o.tid;
  end if;
  return null;
end $$;`

/** Runs `take_place` at the commit, only for provisional arrivals: `append` does not pay for a trigger. */
export const commitOrderTrigger = `
create constraint trigger take_place after insert on S.inbox deferrable initially deferred
  for each row when (new.arrival < 0) execute function S.take_place();`

export const inboxFunctions =
  appendFunction('append', "nextval('S.arrival')") +
  appendFunction('append_with', `nextval('S.arrival') - ${PROVISIONAL_OFFSET}`) +
  areFreeFunction +
  areWaitingFunction +
  takePlaceFunction +
  requestsFunction
