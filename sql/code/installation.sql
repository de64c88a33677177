-- What a service that may not migrate has to know before it starts.

-- The release that this database was brought to; null before the first one was complete.
create or replace function api.get_release()
  returns integer[]
  language sql
  stable
as $$
  select i.code_release from portal.installation i
$$;
comment on function api.get_release() is 'Release of the functions of this database, as numbers';

-- What keeps PostgreSQL from tidying up, and how far that has gone.
-- returns  aelteste_s: seconds for which the oldest transaction goes on that still sees what was changed since, as far as this role may
--          see others, 0 for none; nummern: numbers of transactions used since the oldest that some database of the server still
--          needs. At 2 147 million of them PostgreSQL writes no more.
create or replace function api.get_transaktionen()
  returns table (aelteste_s float8, nummern integer)
  language sql
  stable
  rows 1
as $$
  select
    (
      select coalesce(max(extract(epoch from clock_timestamp() - t.begun)), 0)::float8
      from (
        select a.xact_start
        from pg_stat_activity a
        where (a.backend_xmin is not null or a.backend_xid is not null) and a.backend_type <> 'autovacuum worker' and a.pid <> pg_backend_pid()
        union all
        select p.prepared from pg_prepared_xacts p
      ) t (begun)
    ),
    (select max(age(d.datfrozenxid)) from pg_database d)
$$;
comment on function api.get_transaktionen() is 'Age in seconds of the oldest transaction that keeps the database from tidying up, and numbers of transactions used since the oldest that is needed';

-- Keeps whether experts see true places in their own groups only (EXPERTEN_NUR_ZUSTAENDIG).
create or replace function api.set_experten_nur_zustaendig(nur_zustaendig boolean)
  returns void
  language plpgsql
  volatile
as $$
begin
  -- Nothing is written where it is so already: a server may be read only.
  if exists (select from portal.installation i where i.orte_nach_gruppe <> nur_zustaendig) then
    update portal.installation set orte_nach_gruppe = nur_zustaendig;
  end if;
end
$$;
comment on function api.set_experten_nur_zustaendig(boolean) is 'Sets whether experts see true places in their own groups only';

-- Lets the role of the service use the queue, whose tables are pg-boss' own. Nothing happens without the one or the other.
create or replace function api.grant_warteschlange()
  returns void
  language plpgsql
  volatile
as $$
begin
  if to_regrole('portal_dienst') is null or to_regnamespace('pgboss') is null then
    return;
  end if;
  perform private.require_warteschlange_lock();
  grant usage on schema pgboss to portal_dienst;
  grant select, insert, update, delete on all tables in schema pgboss to portal_dienst;
  grant usage, select on all sequences in schema pgboss to portal_dienst;
end
$$;
comment on function api.grant_warteschlange() is 'Lets the role of the service use the tables of the queue';
