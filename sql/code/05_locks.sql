-- Locks, and the only place that takes any by name, but for that of migrations (src/db/migrate.ts), which is there before any function
-- is. Each is a table, those of catalogue and accounts one that is never read or written: whoever wants to lock it needs rights on it.
-- An advisory lock is a number, which every session on the server may take for as long as it likes; an analyst who did stopped
-- every report.

-- Up to migration 0003 the catalogue lock was an advisory one. Whoever still writes holds that one, and would not be seen by who
-- asks for the new one: so they end first, and those who come meanwhile wait and take the new one.
do $$
begin
  if exists (
    select from pg_proc p
    where p.pronamespace = 'private'::regnamespace and p.proname = 'require_catalogue_lock' and p.prosrc like '%advisory%') then
    lock table portal.sichtbeobachtung, portal.mandant, portal.art, portal.art_mandant in share row exclusive mode;
  end if;
end
$$;

-- The catalogue lock. Whether a record is protected is read from the species' definitions and the tenants' cells; a
-- writer that read "not sensitive" while somebody else commits "sensitive" would leave a true place public for ever.
-- So every write of a sighting holds this lock shared, every change of what the decision is read from holds it alone.
-- Not `for share` on the species: it would write a row version for every sighting of a common species. Row share, because
-- PostgreSQL keeps so weak a lock with the connection instead of in the table of locks that all share.
--   exclusive  true for a change of the catalogue or the boundaries
-- errors       RLSCH when the transaction works on an old snapshot (repeatable read, serializable), where waiting
--              for the lock would not show what was committed meanwhile
create or replace function private.require_catalogue_lock(exclusive boolean)
  returns void
  language plpgsql
  volatile
as $$
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'sightings, catalogue and boundaries are written at isolation level read committed only'
      using errcode = 'RLSCH';
  end if;
  if exclusive then
    lock table portal.sperre_katalog in exclusive mode;
  else
    lock table portal.sperre_katalog in row share mode;
  end if;
end
$$;

-- The lock on accounts: names and addresses are given out, and the last administrator is decided on, one after the other.
create or replace function private.require_account_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.sperre_konto in exclusive mode;
end
$$;

-- The lock on runs of the boundary job, for the moment in which one begins.
create or replace function private.require_run_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.grenzlauf in share row exclusive mode;
end
$$;

-- The lock on the numbers of species among the counts, for the moment in which some are given.
create or replace function private.require_platz_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.art_platz in share row exclusive mode;
end
$$;

-- The lock on counting squares: by one session at a time, and who comes second has nothing to wait for.
-- errors  55P03 while another session counts
create or replace function private.require_raster_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.raster_zahl in share row exclusive mode nowait;
end
$$;

-- The lock on stored files, until the transaction ends: none leaves the storage while a backup copies those that its snapshot names. Nobody
-- waits for it; who would remove a file asks and comes again. In a mode that nothing else takes on this table and no writer of it
-- conflicts with.
create or replace function api.require_medium_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.medium_entfernt in row share mode;
end
$$;
comment on function api.require_medium_lock() is 'Keeps stored files from being removed until this transaction ends: a backup copies them';

-- Whether a backup copies stored files. Whoever let go of a file asks after that was committed: a backup that begins later has a
-- snapshot that no longer names it.
create or replace function api.is_medium_gesperrt()
  returns boolean
  language sql
  stable
as $$
  select exists (
    select
    from pg_catalog.pg_locks l
    where l.relation = 'portal.medium_entfernt'::regclass and l.mode = 'RowShareLock' and l.granted
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))
$$;
comment on function api.is_medium_gesperrt() is 'Whether stored files must not be removed now, because a backup copies them';

-- What PostgreSQL gives to everybody and one session could stop the server with: functions that take a lock each, which fill the
-- table of locks that all sessions share (a message in a subtransaction does too, and one of a gigabyte keeps every commit waiting),
-- or that queue for a lock on a table before they ask for rights on it, or that write a file each, which no limit counts
-- (pg_export_snapshot). 99_grants.sql takes them away.
--   public_only  only those that everybody still may execute
create or replace function api.list_sperrende_funktion(public_only boolean)
  returns setof regprocedure
  language sql
  stable
as $$
  select p.oid::regprocedure
  from pg_catalog.pg_proc p
  where p.pronamespace = 'pg_catalog'::regnamespace
    and (p.proname ~ '^pg_(try_)?advisory_(xact_)?lock(_shared)?$'
      or p.proname in (
        'lo_creat', 'lo_create', 'lo_from_bytea', 'lo_open', 'lo_unlink', 'pg_logical_emit_message', 'pg_export_snapshot',
        'brin_summarize_new_values', 'brin_summarize_range', 'brin_desummarize_range', 'gin_clean_pending_list'))
    and (not list_sperrende_funktion.public_only or exists (
      select from pg_catalog.aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      where a.grantee = 0 and a.privilege_type = 'EXECUTE'))
  order by 1
$$;
comment on function api.list_sperrende_funktion(boolean) is
  'Functions of PostgreSQL with which a session without any rights could stop the server';

-- Whether a login is an analyst's and nothing else: a member of their groups without the rights of whoever owns the service's tables.
-- Without those tables nobody is one: they may be on their way out.
create or replace function private.is_analyst(login name)
  returns boolean
  language sql
  stable
  set search_path = ''
as $$
  select
    exists (
      select
      from pg_catalog.pg_roles r
      where r.rolname in ('gis_public', 'gis_exact') and pg_catalog.pg_has_role(is_analyst.login, r.oid, 'member'))
    -- Of all roles a superuser is a member, if only on paper.
    and not coalesce(
      pg_catalog.pg_has_role(
        is_analyst.login,
        (select c.relowner from pg_catalog.pg_class c where c.oid = to_regclass('portal.installation')), 'usage'),
      true)
$$;

-- Where analysts may log in beside this database. The service's own role reads the same views, and is none. Neither is the owner of another
-- portal, whose database closes itself: taken from everybody, the right to connect would be missed by its own service.
create or replace function api.list_zugang_anderswo()
  returns table (login name, datenbank name)
  language sql
  stable
as $$
  with portal as (
    select d.oid, o.oid as owner
    from pg_catalog.pg_database d
    join pg_catalog.pg_roles o on o.oid = d.datdba
    where not o.rolsuper and pg_catalog.pg_has_role(o.oid, to_regrole('gis_public'), 'member'))
  select r.rolname, d.datname
  from pg_catalog.pg_roles r, pg_catalog.pg_database d
  where r.rolcanlogin
    and private.is_analyst(r.rolname)
    and not coalesce(pg_catalog.pg_has_role(r.oid, to_regrole('portal_dienst'), 'member'), false)
    and r.oid not in (select p.owner from portal p)
    and d.datallowconn
    and d.datname <> pg_catalog.current_database()
    and d.oid not in (select p.oid from portal p)
    and pg_catalog.has_database_privilege(r.oid, d.oid, 'connect')
$$;
comment on function api.list_zugang_anderswo() is 'Databases of this server, beside this one, that logins of analysts may connect to';

-- What analysts may define: objects of their own, where an administrator gave them a schema. Everything else PostgreSQL would refuse
-- too, for want of rights, but some of it after it locked the table in question (rules, triggers, what an index or a materialized view
-- depends on), and some with a warning only (grants): with two sessions, analysts who may define nothing kept every new connection
-- waiting, with one they filled the table of locks. Refused before anything is locked. So are tables that are part of others or refer to
-- them. The command itself is not told here, only its text: that of whoever sent it, and those of the statements on the way to it. Functions in
-- SQL tell none: so what they may not do can't be written in one. Words inside of names and texts count too. Only a superuser may have
-- PostgreSQL ask this.
-- errors       42501 for analysts
create or replace function private.refuse_definition()
  returns event_trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_calls text;
begin
  if not private.is_analyst(session_user) then
    return;
  end if;
  if tg_tag !~ '^(CREATE|ALTER|DROP|REFRESH) (TABLE|TABLE AS|VIEW|MATERIALIZED VIEW|FUNCTION|SEQUENCE|TYPE)$'
    and tg_tag not in ('SELECT INTO', 'CREATE INDEX', 'DROP INDEX', 'COMMENT')
    or tg_tag = 'ALTER MATERIALIZED VIEW'
  then
    raise exception 'analysts do not %', lower(tg_tag) using errcode = '42501';
  end if;
  get diagnostics v_calls = pg_context;
  -- E'': how other texts are read is up to the session.
  if tg_tag in ('CREATE TABLE', 'ALTER TABLE', 'CREATE FUNCTION')
    and (current_query() || v_calls) ~* E'\\m(partition(?!\\s+by\\M)|inherits?|references|foreign)\\M'
  then
    raise exception 'analysts define tables without partitions, inheritance and references, in functions too'
      using errcode = '42501';
  end if;
end
$$;

-- What analysts make is locked by whoever makes or uses it, in the table of locks that all sessions share: a transaction that made
-- ten thousand tables kept everybody from reading, and so did one command that dropped as many functions. So they own few, and hold few
-- locks in a transaction that makes or drops any.
-- errors       54000 for analysts with more
create or replace function private.refuse_amount()
  returns event_trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_max_objects constant integer := 1500;
  v_max_locks constant integer := 1000;
begin
  if not private.is_analyst(session_user) then
    return;
  end if;
  if tg_tag not like 'DROP %' and (
    select
      (select count(*) from pg_catalog.pg_class c where c.relowner = r.oid)
        + (select count(*) from pg_catalog.pg_proc p where p.proowner = r.oid)
        -- Those of tables and arrays come with them.
        + (select count(*) from pg_catalog.pg_type t where t.typowner = r.oid and t.typtype in ('d', 'e', 'm', 'r'))
    from pg_catalog.pg_roles r
    where r.rolname = session_user) > v_max_objects
  then
    raise exception 'analysts have at most % tables, views, indexes, sequences, functions and types', v_max_objects using errcode = '54000';
  end if;
  if (select count(*) from pg_catalog.pg_locks l where l.pid = pg_backend_pid()) > v_max_locks then
    raise exception 'analysts lock at most % of what they have in a transaction', v_max_locks using errcode = '54000';
  end if;
end
$$;
