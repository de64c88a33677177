-- All locks that are taken by name, but for that of migrations (src/db/migrate.ts), which is there before any function is. Each is a table,
-- on which whoever locks it needs rights: an advisory lock is a number that every session on the server may take, and an analyst who did
-- stopped every report.

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

-- The catalogue lock, alone, for whoever can come again: none writes a sighting until the transaction ends.
-- errors  55P03 while somebody does
create or replace function private.require_catalogue_pause()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.sperre_katalog in exclusive mode nowait;
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

-- The lock on the rights of the queue: of two that grant the same at once, PostgreSQL ends the later one with an error.
create or replace function private.require_warteschlange_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.installation in share row exclusive mode;
end
$$;

-- The lock on counting squares: by one session at a time, and who comes second has nothing to wait for. Not on the squares: `vacuum` of them
-- would keep everybody from counting, and an analyst's open cursor keeps `vacuum` waiting.
-- errors  55P03 while another session counts
create or replace function private.require_raster_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.sperre_raster in exclusive mode nowait;
end
$$;

-- The lock on making files to publish: one session at a time, and who comes second comes again.
-- errors  55P03 while another session makes some
create or replace function private.require_export_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.sperre_export in exclusive mode nowait;
end
$$;

-- The lock on counting for the review, and on the reasons that follow from it: by one session at a time, and who comes second has nothing to
-- wait for.
-- errors  55P03 while another session counts
create or replace function private.require_pruefung_lock()
  returns void
  language plpgsql
  volatile
as $$
begin
  lock table portal.sperre_pruefung in exclusive mode nowait;
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

create or replace function private.catalogue_before_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.require_catalogue_lock(exclusive => true);
  return null;
end
$$;

create or replace function private.sichtbeobachtung_before_statement()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.require_catalogue_lock(exclusive => false);
  return null;
end
$$;
