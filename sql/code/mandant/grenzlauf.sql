-- Runs of the boundary job: what is read from the source is collected, checked as a whole, and made valid in one transaction.

-- Begins a run. A run that is still marked as running although the connection that began it has gone was killed.
--   quelle     where the boundaries come from, without secrets
--   erzwungen  large changes are accepted
-- returns      id of the run
-- errors       GLAUF another run is going on
create or replace function api.create_grenzlauf(quelle portal.kurztext, erzwungen boolean)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_id bigint;
begin
  perform private.require_run_lock();
  if exists (
    select
    from portal.grenzlauf g
    join pg_stat_activity a on (a.pid, a.backend_start) = (g.verbindung, g.verbunden)
    -- What this connection itself began is not going on, or it would not ask.
    where g.ergebnis = 'laeuft' and a.pid <> pg_backend_pid()) then
    raise exception 'another run is going on' using errcode = 'GLAUF';
  end if;
  update portal.grenzlauf g
  set ergebnis = 'abgebrochen', beendet = now(), grund = 'Der Lauf wurde abgebrochen.'
  where g.ergebnis = 'laeuft';
  delete from portal.grenzlauf_gebiet;
  delete from portal.mandant_entwurf;
  insert into portal.grenzlauf (quelle, erzwungen, verbindung, verbunden)
  values (create_grenzlauf.quelle, create_grenzlauf.erzwungen, pg_backend_pid(),
    (select a.backend_start from pg_stat_activity a where a.pid = pg_backend_pid()))
  returning id into v_id;
  return v_id;
end
$$;
comment on function api.create_grenzlauf(portal.kurztext, boolean) is
  'Begins a run of the boundary job; the connection that calls it must stay open until the run has ended; returns its id';

-- Collects one feature of the source.
--   wert     value of the property that names the tenant: its schluessel, or else its kuerzel in any case
--   geojson  Polygon or MultiPolygon
--   srid     4326 or 25832
--   repairable  few of its lines cross: it is repaired when it is not valid, which takes the longer the more do
-- returns    false: no tenant has this name, the feature is passed over
-- errors     GRENZ, PROJK, GBIET as private.to_boundary
create or replace function api.create_grenzlauf_gebiet(
  grenzlauf_id bigint, wert portal.kurztext, geojson portal.dokument, srid integer, repairable boolean)
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_mandant_id integer := coalesce(
    (select m.id from portal.mandant m where m.schluessel = wert),
    (select m.id from portal.mandant m where lower(m.kuerzel) = lower(wert)));
begin
  if v_mandant_id is null then
    return false;
  end if;
  insert into portal.grenzlauf_gebiet (grenzlauf_id, mandant_id, gebiet)
  values (create_grenzlauf_gebiet.grenzlauf_id, v_mandant_id, private.to_boundary(geojson, srid, repairable));
  return true;
end
$$;
comment on function api.create_grenzlauf_gebiet(bigint, portal.kurztext, portal.dokument, integer, boolean) is
  'Collects one feature for a run of the boundary job; false when it names no tenant';

-- Merges what was collected for each tenant, and drafts those boundaries that differ from the present ones: in more than the
-- order of their corners. What needs no merging stays as it came; the rest, like all overlays of boundaries, is computed on a grid
-- of a millimetre: without one GEOS throws and tries again where two lines almost meet, and in the embedded database a statement
-- during which it does has no rows.
-- returns  ids of tenants whose boundary changes
create or replace function api.create_mandant_entwurf(grenzlauf_id bigint)
  returns setof integer
  language sql
  volatile
as $$
  insert into portal.mandant_entwurf (mandant_id, alt, boundary)
  select m.id, m.boundary, n.boundary
  from portal.mandant m
  join (
    select g.mandant_id,
      st_multi(case count(*) when 1 then (array_agg(g.gebiet))[1] else st_union(g.gebiet, 0.001) end) as boundary
    from portal.grenzlauf_gebiet g
    where g.grenzlauf_id = create_mandant_entwurf.grenzlauf_id
    group by g.mandant_id
  ) n on n.mandant_id = m.id
  where not st_orderingequals(st_normalize(m.boundary), st_normalize(n.boundary))
  returning mandant_id
$$;
comment on function api.create_mandant_entwurf(bigint) is
  'Drafts the boundaries that a run of the boundary job changes; returns the ids of their tenants';

-- What is wrong with the boundaries of a run.
-- returns  mangel: fehlt no feature names this tenant; gleich another tenant would have the same area; else as
--          private.list_grenze_mangel
create or replace function api.list_grenzlauf_mangel(grenzlauf_id bigint)
  returns table (mangel text, kuerzel text, wert float8)
  language sql
  stable
  -- Compiling takes 500 ms, the check itself 10.
  set jit = off
as $$
  select k.mangel, m.kuerzel, k.wert
  from portal.grenzlauf g
  cross join portal.mandant m
  left join portal.mandant_entwurf e on e.mandant_id = m.id
  cross join lateral (
    select 'fehlt' as mangel, null::float8 as wert
    where not exists (select from portal.grenzlauf_gebiet t where t.grenzlauf_id = g.id and t.mandant_id = m.id)
    union all
    select 'gleich', null
    where exists (
      select
      from portal.mandant n
      left join portal.mandant_entwurf f on f.mandant_id = n.id
      where n.id <> m.id and e.mandant_id is not null and private.is_same_area(e.boundary, coalesce(f.boundary, n.boundary)))
    union all
    select b.mangel, b.wert from private.list_grenze_mangel(e.alt, e.boundary, g.erzwungen) b
  ) k
  where g.id = list_grenzlauf_mangel.grenzlauf_id
  order by m.kuerzel, k.mangel
$$;
comment on function api.list_grenzlauf_mangel(bigint) is
  'What is wrong with the boundaries that a run of the boundary job has read; none when they may become valid';

-- The last entry of the change log at a moment at which nobody is writing a sighting: all of them are locked out for it.
create or replace function api.get_protokoll_stand()
  returns bigint
  language plpgsql
  volatile
as $$
begin
  perform private.require_catalogue_lock(exclusive => true);
  return coalesce((select max(p.id) from portal.protokoll p), 0);
end
$$;
comment on function api.get_protokoll_stand() is
  'The last entry of the change log, at a moment at which no sighting is being written';

-- Computes what follows from a drafted boundary, before anybody is locked out.
--   protokoll_id  from api.get_protokoll_stand
-- errors          GRAEN somebody else changed the boundary meanwhile
create or replace function api.set_mandant_entwurf(mandant_id integer, protokoll_id bigint)
  returns void
  language plpgsql
  volatile
as $$
begin
  if not exists (select from portal.mandant_entwurf e where e.mandant_id = set_mandant_entwurf.mandant_id) then
    raise exception 'the boundary was changed meanwhile' using errcode = 'GRAEN';
  end if;
  perform private.set_mandant_entwurf(set_mandant_entwurf.mandant_id, set_mandant_entwurf.protokoll_id);
end
$$;
comment on function api.set_mandant_entwurf(integer, bigint) is
  'Computes parts, cells and the sightings concerned of a drafted boundary';

-- Makes the drafted boundaries valid and ends the run; the sightings concerned follow, readers go on meanwhile.
--   mandant_id   tenants with a draft, from api.create_mandant_entwurf
--   uebergangen  features that named no tenant
-- returns          sightings whose tenants changed, and those of them that are shown elsewhere now
-- errors           GRAEN somebody else changed tenants or boundaries meanwhile
create or replace function api.set_grenzlauf_grenze(grenzlauf_id bigint, mandant_id integer[], uebergangen integer)
  returns table (zugeordnet integer, maskiert integer)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_protokoll bigint;
begin
  -- Before any row, in the order of everyone who takes both.
  perform private.require_catalogue_lock(exclusive => true);
  if not exists (select from portal.grenzlauf g where g.id = set_grenzlauf_grenze.grenzlauf_id and g.ergebnis = 'laeuft')
    or cardinality(mandant_id) <> (
      select count(*)
      from portal.mandant_entwurf e
      join portal.mandant m on m.id = e.mandant_id
      where m.id = any (set_grenzlauf_grenze.mandant_id) and st_orderingequals(e.alt, m.boundary))
    or exists (
      select from portal.mandant m
      where not exists (
        select from portal.grenzlauf_gebiet t
        where t.grenzlauf_id = set_grenzlauf_grenze.grenzlauf_id and t.mandant_id = m.id)) then
    raise exception 'tenants were changed meanwhile' using errcode = 'GRAEN';
  end if;
  v_protokoll := coalesce((select max(p.id) from portal.protokoll p), 0);

  update portal.mandant m
  set boundary = e.boundary, quelle = g.quelle, stand = clock_timestamp()
  from portal.mandant_entwurf e, portal.grenzlauf g
  where m.id = any (set_grenzlauf_grenze.mandant_id) and e.mandant_id = m.id and g.id = set_grenzlauf_grenze.grenzlauf_id;

  -- Nobody else logs meanwhile. A record that this transaction wrote itself was re-masked, unless its recorder's own mark
  -- masks it in any case.
  select count(*), count(*) filter (where s.xmin = pg_current_xact_id()::xid and not s.sensibel)
  into zugeordnet, maskiert
  from portal.protokoll p
  join portal.sichtbeobachtung s on s.id = p.sichtbeobachtung_id
  where p.id > v_protokoll;

  update portal.grenzlauf g
  set mandanten = cardinality(set_grenzlauf_grenze.mandant_id), zugeordnet = set_grenzlauf_grenze.zugeordnet,
    maskiert = set_grenzlauf_grenze.maskiert
  where g.id = set_grenzlauf_grenze.grenzlauf_id;
  perform api.update_grenzlauf(set_grenzlauf_grenze.grenzlauf_id, 'erfolgreich', set_grenzlauf_grenze.uebergangen, null);
  return next;
end
$$;
comment on function api.set_grenzlauf_grenze(bigint, integer[], integer) is
  'Makes the drafted boundaries of a run valid, the sightings concerned included, and ends it; returns how many those are';

-- Ends a run.
--   ergebnis     erfolgreich, unveraendert or fehlgeschlagen
--   uebergangen  features that named no tenant
--   grund        a sentence that says why it failed, null for the others
create or replace function api.update_grenzlauf(id bigint, ergebnis portal.kurztext, uebergangen integer, grund portal.kurztext)
  returns void
  language plpgsql
  volatile
as $$
begin
  update portal.grenzlauf g
  set ergebnis = update_grenzlauf.ergebnis::portal.ergebnis, uebergangen = update_grenzlauf.uebergangen,
    grund = update_grenzlauf.grund, beendet = clock_timestamp()
  where g.id = update_grenzlauf.id and g.ergebnis = 'laeuft';
  if not found then
    raise exception 'the run has ended already' using errcode = 'GRAEN';
  end if;
  delete from portal.grenzlauf_gebiet t where t.grenzlauf_id = update_grenzlauf.id;
  delete from portal.mandant_entwurf;
end
$$;
comment on function api.update_grenzlauf(bigint, portal.kurztext, integer, portal.kurztext) is
  'Ends a run of the boundary job with its result and, when it failed, the reason';

-- When the last run of the boundary job began, whatever became of it, and what time it is.
create or replace function api.get_grenzlauf_stand()
  returns table (begonnen timestamptz, jetzt timestamptz)
  language sql
  stable
as $$
  select max(g.begonnen), now() from portal.grenzlauf g
$$;
comment on function api.get_grenzlauf_stand() is
  'When the last run of the boundary job began (null: never), and the time of the database';

-- How long ago runs of the boundary job ended.
-- returns  erfolg      seconds since one ended well, whether boundaries changed or not; null: none did
--          fehlschlag  seconds since one failed or was broken off; null: none was
create or replace function api.get_grenzlauf_alter()
  returns table (erfolg float8, fehlschlag float8)
  language sql
  stable
as $$
  select
    extract(epoch from now() - max(g.beendet) filter (where g.ergebnis in ('erfolgreich', 'unveraendert')))::float8,
    extract(epoch from now() - max(g.beendet) filter (where g.ergebnis in ('fehlgeschlagen', 'abgebrochen')))::float8
  from portal.grenzlauf g
$$;
comment on function api.get_grenzlauf_alter() is
  'Seconds since a run of the boundary job ended well, and since one failed or was broken off; null where none did';
