-- Tenants: their domains, and the tables that say fast which of them a point lies in and which a cell touches.

-- Keeps the domains of tenants: one row each, so that two tenants can't claim the same one.
--   mandant_id  tenants that were created or changed
create or replace function private.set_mandant_domain(mandant_id integer[])
  returns void
  language plpgsql
  volatile
as $$
begin
  delete from portal.mandant_domain d where d.mandant_id = any (set_mandant_domain.mandant_id);
  insert into portal.mandant_domain (domain, mandant_id, position)
  select pg_catalog.lower(u.domain), m.id, u.position
  from portal.mandant m, pg_catalog.unnest(m.domains) with ordinality u (domain, position)
  where m.id = any (set_mandant_domain.mandant_id);
end
$$;

-- A boundary that is written without saying where it comes from comes from SQL, now.
create or replace function private.mandant_before_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if not public.st_orderingequals(new.boundary, old.boundary) and (new.quelle, new.stand) = (old.quelle, old.stand) then
    new.quelle := 'SQL';
    new.stand := pg_catalog.now();
  end if;
  return new;
end
$$;

create or replace function private.mandant_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_id integer[] := array(select n.id from new_row n);
begin
  perform private.set_mandant_domain(v_id);
  insert into portal.mandant_entwurf (mandant_id, alt, boundary)
  select n.id, public.st_setsrid('multipolygon empty'::public.geometry, 25832), n.boundary from new_row n;
  perform private.set_mandant_grenze(v_id);
  return null;
end
$$;

create or replace function private.mandant_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_moved integer[] := array(
    select n.id from new_row n join old_row o using (id) where not public.st_orderingequals(n.boundary, o.boundary));
begin
  perform private.set_mandant_domain(array(select n.id from new_row n));
  -- What was kept back and is shown now, or the other way round.
  if exists (select from new_row n join old_row o using (id) where n.bemerkung_geschuetzter <> o.bemerkung_geschuetzter) then
    perform private.set_abgleich(array(
      select s.id
      from portal.sichtbeobachtung s
      where s.schutz > 0 and private.is_shown_to_all(s.bereich, s.status) and private.to_verborgen(s) is distinct from s));
  end if;
  -- Their files hold other records, or say something else of themselves.
  perform private.set_export_ungueltig(array(
    select n.id
    from new_row n
    join old_row o using (id)
    where n.id = any (v_moved)
      or (n.name, n.kuerzel, n.domains, n.lizenz, n.herausgeber, n.kontakt, n.titel, n.beschreibung)
        is distinct from (o.name, o.kuerzel, o.domains, o.lizenz, o.herausgeber, o.kontakt, o.titel, o.beschreibung)));
  if pg_catalog.cardinality(v_moved) = 0 then
    return null;
  end if;
  -- What was computed beforehand serves when it is about exactly this change.
  insert into portal.mandant_entwurf as e (mandant_id, alt, boundary)
  select n.id, o.boundary, n.boundary
  from new_row n
  join old_row o using (id)
  where n.id = any (v_moved)
  on conflict (mandant_id) do update
    set alt = excluded.alt, boundary = excluded.boundary, protokoll_id = null, sichtbeobachtung_id = null
    where not (public.st_orderingequals(e.alt, excluded.alt) and public.st_orderingequals(e.boundary, excluded.boundary));
  perform private.set_mandant_grenze(v_moved);
  return null;
end
$$;

-- Nothing else empties the links then: no foreign key leads from them to the tenants.
-- What a deletion is refused for by the key of portal.nutzer_mandant; TRUNCATE … CASCADE would empty that too, and an expert who is restricted
-- to nothing may decide on everything.
create or replace function private.mandant_before_truncate()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if exists (select from portal.nutzer_mandant) then
    raise exception 'experts are restricted to tenants: end that first' using errcode = 'LEERN';
  end if;
  return null;
end
$$;

create or replace function private.mandant_after_truncate()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  delete from portal.mandant_sichtbeobachtung;
  return null;
end
$$;

-- A tenant that goes: its definitions and cells end before it, so that its records are re-masked, re-placed and logged once.
create or replace function private.mandant_before_delete()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_linked bigint[] := array(
    select l.sichtbeobachtung_id from portal.mandant_sichtbeobachtung l where l.mandant_id = old.id);
  -- Nobody else logs meanwhile: every writer waits for the catalogue lock.
  v_logged bigint := coalesce((select max(p.id) from portal.protokoll p), 0);
begin
  delete from portal.art_mandant am where am.mandant_id = old.id;
  delete from portal.mandant_zelle z where z.mandant_id = old.id;
  delete from portal.mandant_sichtbeobachtung l where l.mandant_id = old.id;
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'UPDATE', u.id
  from pg_catalog.unnest(v_linked) u (id)
  where not exists (select from portal.protokoll p where p.id > v_logged and p.sichtbeobachtung_id = u.id)
  order by u.id;
  return old;
end
$$;

create or replace function api.list_mandant()
  returns table (id integer, kuerzel text, name text, domains text[])
  language sql
  stable
as $$
  select m.id, m.kuerzel, m.name, array(
    select d.domain from portal.mandant_domain d where d.mandant_id = m.id order by d.position)
  from portal.mandant m
  order by m.id
$$;
comment on function api.list_mandant() is
  'All tenants with their domains in the order given; a request''s Host selects one of them (D1.15)';

-- Creates a tenant or updates it; its cells, parts and the sightings concerned follow.
--   geojson  Polygon or MultiPolygon, EPSG:4326
--   bemerkung_geschuetzter  zeigen or verbergen: the remark and the biotope photo of protected records (D6.5)
-- errors     GRENZ, PROJK, GBIET unusable boundary; 23505 a domain or schluessel belongs to another tenant
-- A boundary that is not valid is repaired: how knotted it is must have been looked at before.
create or replace function api.set_mandant(
  kuerzel portal.kurztext, name portal.kurztext, schluessel portal.kurztext, domains portal.kurztexte, geojson portal.dokument,
  bemerkung_geschuetzter portal.kurztext)
  returns integer
  language plpgsql
  volatile
as $$
declare
  v_boundary public.geometry := private.to_boundary(geojson, 4326, repairable => true);
  v_quelle constant text := 'Katalog';
  v_id integer;
begin
  update portal.mandant m
  set kuerzel = set_mandant.kuerzel, name = set_mandant.name, schluessel = set_mandant.schluessel, domains = set_mandant.domains,
    bemerkung_geschuetzter = set_mandant.bemerkung_geschuetzter, boundary = v_boundary, quelle = v_quelle,
    stand = case when st_orderingequals(m.boundary, v_boundary) then m.stand else now() end
  where lower(m.kuerzel) = lower(set_mandant.kuerzel)
  returning m.id into v_id;
  if not found then
    insert into portal.mandant as m (kuerzel, name, schluessel, domains, boundary, quelle, bemerkung_geschuetzter)
    values (set_mandant.kuerzel, set_mandant.name, set_mandant.schluessel, set_mandant.domains, v_boundary, v_quelle,
      set_mandant.bemerkung_geschuetzter)
    returning m.id into v_id;
  end if;
  return v_id;
end
$$;
comment on function api.set_mandant(portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztexte, portal.dokument, portal.kurztext) is
  'Creates or updates the tenant with this abbreviation; boundary as GeoJSON in EPSG:4326; returns its id';

-- What speaks against giving a tenant this boundary, before anything is written.
--   kuerzel     in any case; the tenant need not be there yet
--   geojson     Polygon or MultiPolygon, EPSG:4326
--   repairable  few of its lines cross
--   erzwungen   it may differ from the present one as it likes; without records in the database it may in any case
-- returns       as private.list_grenze_mangel
-- errors        GRENZ, PROJK, GBIET unusable boundary
create or replace function api.list_mandant_mangel(
  kuerzel portal.kurztext, geojson portal.dokument, repairable boolean, erzwungen boolean)
  returns table (mangel text, wert float8)
  language plpgsql
  stable
as $$
begin
  return query
  select b.mangel, b.wert
  from private.list_grenze_mangel(
    (select m.boundary from portal.mandant m where lower(m.kuerzel) = lower(list_mandant_mangel.kuerzel)),
    private.to_boundary(geojson, 4326, repairable),
    erzwungen or not exists (select from portal.sichtbeobachtung)) b;
end
$$;
comment on function api.list_mandant_mangel(portal.kurztext, portal.dokument, boolean, boolean) is
  'What speaks against giving a tenant this boundary (GeoJSON, EPSG:4326); none when it may be written';

-- Tenants that have the same area but for a tenth: one of them got the other's boundary.
create or replace function api.list_mandant_gleich()
  returns table (kuerzel text, anderer text)
  language sql
  stable
as $$
  select m.kuerzel, n.kuerzel
  from portal.mandant m
  join portal.mandant n on m.id < n.id and private.is_same_area(m.boundary, n.boundary)
  order by m.id, n.id
$$;
comment on function api.list_mandant_gleich() is 'Pairs of tenants whose boundaries enclose the same';

-- Under which licence a tenant publishes its files, and what they say of themselves (O5.1).
--   kuerzel  in any case; a tenant that is there
--   lizenz   null: nothing is published; else none of the others is null
create or replace function api.set_mandant_lizenz(
  kuerzel portal.kurztext, lizenz portal.kurztext, herausgeber portal.kurztext, kontakt portal.kurztext, titel portal.kurztext,
  beschreibung portal.bemerkung)
  returns void
  language sql
  volatile
as $$
  update portal.mandant m
  set lizenz = set_mandant_lizenz.lizenz, herausgeber = set_mandant_lizenz.herausgeber, kontakt = set_mandant_lizenz.kontakt,
    titel = set_mandant_lizenz.titel, beschreibung = set_mandant_lizenz.beschreibung
  where lower(m.kuerzel) = lower(set_mandant_lizenz.kuerzel)
$$;
comment on function api.set_mandant_lizenz(
  portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.bemerkung) is
  'Licence, publisher, contact, title and description under which a tenant publishes its files; lizenz null: it publishes none';

-- Tenants by their abbreviations, in any case.
--   feld   parameter that an error names
-- errors   MANUN one of them is none; detail is that abbreviation
create or replace function private.list_mandant_id(kuerzel text[], feld text)
  returns integer[]
  language plpgsql
  stable
as $$
declare
  v_missing text;
begin
  select k into v_missing from unnest(list_mandant_id.kuerzel) k where not exists (select from portal.mandant m where lower(m.kuerzel) = lower(k)) limit 1;
  if found then
    raise exception 'no such tenant' using errcode = 'MANUN', column = feld, detail = v_missing;
  end if;
  return array(select m.id from portal.mandant m where exists (select from unnest(list_mandant_id.kuerzel) k where lower(k) = lower(m.kuerzel)));
end
$$;
