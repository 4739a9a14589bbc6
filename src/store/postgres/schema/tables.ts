/**
 * The tables. Names are compared byte by byte (collation C). Numbers are JavaScript's integers, up to 2^53 - 1. `S`
 * stands for the name of the schema.
 *
 * `timer` has two indexes: by name and by place. Every scan by place begins at a level. So it reads neither settled
 * rows that were not removed yet, nor rows in the far future.
 */
export const tables = `
create table S.store (
  single boolean primary key default true check (single),
  version integer not null,
  strategy text not null,
  shard_count integer not null
);

create table S.shard (
  shard integer primary key,
  epoch bigint not null default 0,
  nonce bigint not null default 0,
  owner text not null default '',
  lease_until bigint not null default 0,
  read_position bigint not null default 0,
  read_revision bigint not null default 0,
  settled_position bigint not null default 0,
  settled_revision bigint not null default 0,
  swept_position bigint not null default 0,
  swept_revision bigint not null default 0,
  last_settlement bigint not null default 0,
  last_revision bigint not null default 0,
  suspect_position bigint not null default 0,
  suspect_revision bigint not null default 0,
  suspect_until_revision bigint not null default 0,
  suspect_due_until bigint not null default 0,
  created bigint not null default 0,
  settled bigint not null default 0,
  cancelled bigint not null default 0,
  replaced bigint not null default 0,
  dead bigint not null default 0
) with (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0);

create table S.timer (
  shard integer not null,
  position bigint not null,
  revision bigint not null,
  identity bigint not null,
  created_at bigint not null,
  due_at bigint not null,
  attempt bigint not null,
  occurrence bigint not null,
  lease_nonce bigint,
  lease_until bigint,
  namespace text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  tags text[] not null,
  details text not null,
  payload bytea not null,
  lease_owner text
) with (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create unique index timer_name on S.timer (key, kind, namespace, shard);
create unique index timer_place on S.timer (shard, position, revision);

create sequence S.arrival;
create table S.inbox (
  shard integer not null,
  id text collate "C" not null,
  arrival bigint not null default nextval('S.arrival'),
  deadline bigint not null,
  operation text not null,
  payload bytea,
  primary key (id, shard)
) with (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.1,
  autovacuum_vacuum_cost_delay = 0);
create index inbox_arrival on S.inbox (shard, arrival);

create table S.answer (
  shard integer not null,
  id text collate "C" not null,
  outcome smallint not null,
  deadline bigint not null,
  primary key (id, shard)
) with (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.1,
  autovacuum_vacuum_cost_delay = 0);
create index answer_deadline on S.answer (deadline);

create sequence S.dead_letter_id;
create table S.dead_letter (
  id bigint primary key default nextval('S.dead_letter_id'),
  shard integer not null,
  died_at bigint not null,
  reason text not null,
  position bigint not null,
  revision bigint not null,
  identity bigint not null,
  created_at bigint not null,
  due_at bigint not null,
  attempt bigint not null,
  occurrence bigint not null,
  namespace text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  tags text[] not null,
  details text not null,
  payload bytea not null
);
create index dead_letter_name on S.dead_letter (namespace, kind, key, id);

create sequence S.history_id;
create table S.history (
  id bigint primary key default nextval('S.history_id'),
  at bigint not null,
  identity bigint not null,
  namespace text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  event text not null,
  details text not null
);
create index history_name on S.history (namespace, kind, key, id);
create index history_at on S.history using brin (at) with (pages_per_range = 32);

create table S.member (
  id text collate "C" primary key,
  details text not null,
  until bigint not null
);

create sequence S.setting_version;
create table S.setting (
  name text collate "C" primary key,
  value text not null,
  version bigint not null
);

-- The counters of the mode claim, in 32 rows so that few writers wait for each other.
create sequence S.revision;
create sequence S.lease;
create table S.counter (
  slot integer primary key,
  created bigint not null default 0,
  settled bigint not null default 0,
  cancelled bigint not null default 0,
  replaced bigint not null default 0,
  dead bigint not null default 0
) with (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0);
insert into S.counter (slot) select generate_series(0, 31);
`

/** Only for stores in the mode `claim`, which look for due timers across all shards. */
export const claimTables = `
create index timer_due on S.timer (position, revision);
`

/** Messages between members. They may get lost, so the table is not logged. */
export const mailTable = `
create unlogged table S.mail (
  id bigint generated always as identity primary key,
  member text collate "C" not null,
  message text not null,
  posted_at bigint not null
) with (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
create index mail_member on S.mail (member, id);
`

/** The few rows whose position is not their due time, for lists by due time. Other rows cost it nothing. */
export const displacedIndex = `
create index timer_displaced on S.timer (shard, position, revision) where due_at <> position;
`
