-- Places in the feed for mirrors (O1.2): how they are made, how far they may be read, and what a restart or a restore does to them.
--
-- A place is the number of the transaction that made the change. Transactions end in another order than they began; so what is read
-- ends before the oldest one that is still going on (private.get_abgleich_grenze): nothing can come to stand before a place that
-- somebody has read. Numbers of transactions start anew in a database that was restored elsewhere; portal.abgleich_verlauf notices
-- that and moves them on, so that places go on growing.

-- Which server, which of its histories and which database this is. It changes with a restore, and when a replica becomes the primary: from
-- its first write on, while the control file tells its new history only at the next checkpoint. Not to be asked of a replica.
create or replace function private.get_server_kennung()
  returns text
  language plpgsql
  volatile
as $$
begin
  return pg_catalog.md5(pg_catalog.concat_ws(
    '-', (select c.system_identifier from pg_catalog.pg_control_system() c),
    ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::integer,
    private.get_datenbank_kennung()));
end
$$;

-- Which database of the server this is, and which table in it: another one after a restore, the database after a copy.
create or replace function private.get_datenbank_kennung()
  returns text
  language plpgsql
  stable
as $$
begin
  return (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
    || '/' || 'portal.abgleich'::pg_catalog.regclass::pg_catalog.oid;
end
$$;

-- Whether this is still what the feed was written on: neither started, restored nor promoted since that was looked at. Reads no files.
create or replace function private.is_current_verlauf(verlauf portal.abgleich_verlauf)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return coalesce(
    verlauf.gestartet = pg_catalog.pg_postmaster_start_time() and verlauf.ort = private.get_datenbank_kennung(), false);
end
$$;

-- Begins a new part of the feed. Its number is the second it begins in: two restores of one backup go on from the same place, and what
-- followed the one must not be taken for what followed the other.
--   last     the part before it, locked; null for none
--   kennung  what it is written on
-- returns    the new part
create or replace function private.create_verlauf(last portal.abgleich_verlauf, kennung text)
  returns portal.abgleich_verlauf
  language plpgsql
  volatile
as $$
declare
  v_end constant bigint := greatest(
    0, last.beginn, last.komplett, (select max(a.stelle) from portal.abgleich a), (select max(b.stelle) from portal.abgleich_block b));
  v_new portal.abgleich_verlauf;
begin
  insert into portal.abgleich_verlauf (nummer, kennung, versatz, beginn, komplett, gestartet, ort)
  values (
    greatest(
      coalesce(last.nummer, 0) + 1,
      extract(epoch from pg_catalog.clock_timestamp() - timestamptz '2026-01-01 00:00:00+00')::integer),
    create_verlauf.kennung,
    -- Of the oldest transaction, not of this one: others that are going on may still come to write here.
    v_end + 1 - pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text::bigint,
    v_end + 1, v_end, pg_catalog.pg_postmaster_start_time(), private.get_datenbank_kennung())
  returning * into v_new;
  return v_new;
end
$$;

-- Looks what was started or restored, and begins a new part of the feed where it must.
-- returns  the present part
create or replace function private.set_verlauf()
  returns portal.abgleich_verlauf
  language plpgsql
  volatile
as $$
declare
  v_last portal.abgleich_verlauf;
  v_kennung constant text := private.get_server_kennung();
begin
  -- One at a time: who waited here finds the row that the other one wrote, by looking again.
  perform from portal.abgleich_verlauf v order by v.nummer desc limit 1 for update;
  select * into v_last from portal.abgleich_verlauf v order by v.nummer desc limit 1;
  if v_last.kennung = v_kennung then
    if not private.is_current_verlauf(v_last) then
      update portal.abgleich_verlauf v
      set gestartet = pg_catalog.pg_postmaster_start_time(), ort = private.get_datenbank_kennung()
      where v.nummer = v_last.nummer
      returning v.* into v_last;
    end if;
    return v_last;
  end if;
  return private.create_verlauf(v_last, v_kennung);
end
$$;

-- The place of what this transaction changes.
create or replace function private.get_stelle()
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_versatz bigint;
begin
  -- As private.is_current_verlauf, in one statement: every report that is published comes by here.
  select v.versatz into v_versatz
  from (select l.* from portal.abgleich_verlauf l order by l.nummer desc limit 1) v
  where v.gestartet = pg_catalog.pg_postmaster_start_time()
    and v.ort = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
      || '/' || 'portal.abgleich'::pg_catalog.regclass::pg_catalog.oid;
  if v_versatz is null then
    v_versatz := (private.set_verlauf()).versatz;
  end if;
  return pg_catalog.pg_current_xact_id()::text::bigint + v_versatz;
end
$$;

-- How much of the feed a backup surely holds, kept once a minute where something changed: a cursor of that time is good after its
-- restore, a later one is not.
-- returns  whether something was written
create or replace function api.set_abgleich_komplett()
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_verlauf portal.abgleich_verlauf := private.set_verlauf();
  v_komplett constant bigint := private.get_abgleich_grenze(v_verlauf) - 1;
begin
  if not exists (select from portal.abgleich a where a.stelle > v_verlauf.komplett)
    and not exists (select from portal.abgleich_block b where b.stelle > v_verlauf.komplett) then
    return false;
  end if;
  update portal.abgleich_verlauf v set komplett = v_komplett where v.nummer = v_verlauf.nummer;
  return true;
end
$$;
comment on function api.set_abgleich_komplett() is 'Notes up to where the feed for mirrors is complete, for cursors after a restore';

-- Ends the cursors of the time after a backup: for a database that was just made of it, which can't always tell by itself. Those of
-- places that the backup surely holds go on.
create or replace function api.create_abgleich_teil()
  returns void
  language plpgsql
  volatile
as $$
declare
  v_nummer constant integer := (select max(v.nummer) from portal.abgleich_verlauf v);
  v_verlauf constant portal.abgleich_verlauf := private.set_verlauf();
begin
  if v_verlauf.nummer = v_nummer then
    perform private.create_verlauf(v_verlauf, v_verlauf.kennung);
  end if;
end
$$;
comment on function api.create_abgleich_teil() is 'Ends the cursors of the feed for mirrors that are of a time after a backup: for a database that was made of it';

-- Ends all cursors: for a database whose files were replaced by an older copy of themselves, which nothing in it tells.
create or replace function api.create_abgleich_verlauf()
  returns void
  language plpgsql
  volatile
as $$
declare
  v_verlauf portal.abgleich_verlauf := private.set_verlauf();
begin
  update portal.abgleich_verlauf v set komplett = -1;
  insert into portal.abgleich_verlauf (nummer, kennung, versatz, beginn, komplett, gestartet, ort)
  values (v_verlauf.nummer + 1, v_verlauf.kennung, v_verlauf.versatz, v_verlauf.beginn, -1, v_verlauf.gestartet, v_verlauf.ort);
end
$$;
comment on function api.create_abgleich_verlauf() is 'Ends all cursors of the feed for mirrors';

-- The first place that may still change: whatever stands before it has ended.
create or replace function private.get_abgleich_grenze(verlauf portal.abgleich_verlauf)
  returns bigint
  language plpgsql
  stable
as $$
begin
  return pg_snapshot_xmin(pg_current_snapshot())::text::bigint + verlauf.versatz;
end
$$;

-- Whether there is something new for those who wait.
-- returns  stelle: the last place that may be read, null for an empty feed; pending: changes are committed behind a transaction that is
--          still going on
-- errors   VERLF as api.list_abgleich
create or replace function api.get_abgleich_kopf()
  returns table (stelle bigint, pending boolean)
  language plpgsql
  stable
  rows 1
as $$
declare
  v_verlauf portal.abgleich_verlauf;
  v_grenze bigint;
begin
  select * into v_verlauf from portal.abgleich_verlauf v order by v.nummer desc limit 1;
  if not private.is_current_verlauf(v_verlauf) then
    raise exception 'the database was started or restored' using errcode = 'VERLF';
  end if;
  v_grenze := private.get_abgleich_grenze(v_verlauf);
  stelle := greatest(
    (select max(a.stelle) from portal.abgleich a where a.stelle < v_grenze),
    (select max(b.stelle) from portal.abgleich_block b where b.stelle < v_grenze));
  pending := exists (select from portal.abgleich a where a.stelle >= v_grenze)
    or exists (select from portal.abgleich_block b where b.stelle >= v_grenze);
  return next;
end
$$;
comment on function api.get_abgleich_kopf() is 'The last place of the feed for mirrors that may be read, and whether changes wait behind it';

-- Looks what was started or restored. Called when a read says VERLF.
create or replace function api.set_abgleich_verlauf()
  returns void
  language plpgsql
  volatile
as $$
begin
  perform private.set_verlauf();
end
$$;
comment on function api.set_abgleich_verlauf() is 'Notices that the database was started or restored, so that cursors of the feed stay in order';

-- How far the feed is behind what is committed.
-- returns  seconds for which the oldest transaction goes on that it waits for, as far as this role may see others; 0 for none
create or replace function api.get_abgleich_lag()
  returns float8
  language sql
  stable
as $$
  select coalesce(max(extract(epoch from clock_timestamp() - a.xact_start)), 0)::float8
  from pg_stat_activity a
  where a.backend_xid is not null
$$;
comment on function api.get_abgleich_lag() is 'Age in seconds of the oldest writing transaction, which the feed for mirrors waits for';

-- returns  what names this installation, whatever server it is on; nothing can be made of it
create or replace function api.get_installation()
  returns text
  language sql
  stable
as $$
  select md5('abgleich ' || i.guid_namespace) from portal.installation i
$$;
comment on function api.get_installation() is 'Names this installation, whatever server it is on';
