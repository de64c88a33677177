-- Reporting sightings, one or many.

-- The record that is the same report (D2.6): user, species, date and place to the millimetre. Null when there is none.
--   point  EPSG:25832
create or replace function private.get_doppelt(nutzer_id bigint, art integer, datum date, point public.geometry)
  returns bigint
  language sql
  stable
as $$
  select s.id
  from portal.sichtbeobachtung s
  where s.nutzer_id = get_doppelt.nutzer_id and s.art = get_doppelt.art and s.datum = get_doppelt.datum
    and round(public.st_x(s.point) * 1000) = round(public.st_x(get_doppelt.point) * 1000)
    and round(public.st_y(s.point) * 1000) = round(public.st_y(get_doppelt.point) * 1000)
$$;

-- Checks what a sighting refers to; null is not checked.
-- errors  ARTUN, STDUN, AKTUN (column names the field)
create or replace function private.require_reference(tenant integer, art integer, stadium_id integer, aktivitaet_id integer)
  returns void
  language plpgsql
  stable
as $$
begin
  if art is not null
    and not exists (select from portal.art_mandant am where am.mandant_id = tenant and am.art = require_reference.art) then
    raise exception 'the tenant does not define this species' using errcode = 'ARTUN', column = 'art';
  end if;
  if stadium_id is not null and not exists (select from portal.stadium s where s.id = stadium_id) then
    raise exception 'no such stage' using errcode = 'STDUN', column = 'stadium_id';
  end if;
  if aktivitaet_id is not null and not exists (select from portal.aktivitaet a where a.id = aktivitaet_id) then
    raise exception 'no such activity' using errcode = 'AKTUN', column = 'aktivitaet_id';
  end if;
end
$$;

-- Fails unless all of these are fields that people write. As the interface names them, which are the columns' names too; lat, lon and
-- srid together stand for the point.
-- errors  22023 another one
create or replace function private.require_feld(fields portal.felder, allowed text[])
  returns void
  language plpgsql
  immutable
as $$
begin
  if fields::jsonb - allowed <> '{}' then
    raise exception 'not a field that can be written' using errcode = '22023';
  end if;
end
$$;

-- Where fields say that something was seen, EPSG:25832.
-- errors  WERTB, GBTAU, GBIET (column names the field)
create or replace function private.to_point_of_felder(fields portal.felder)
  returns public.geometry
  language sql
  stable
as $$
  select private.to_point((fields ->> 'lat')::float8, (fields ->> 'lon')::float8, (fields ->> 'srid')::integer)
$$;

-- Stores a sighting (api-v2 POST /sichtbeobachtungen).
--   tenant    the addressed tenant, which must define the species
--   reader    the recorder
--   fields    JSON object: art, lat, lon (northing and easting in the unit of srid), srid (25832, 4326 or 3857), anzahl, sensibel,
--             datum (YYYY-MM-DD; null = today in Europe/Berlin), bereich; bemerkung, stadium_id, aktivitaet_id, and foto … audio, names
--             of stored files, where there are any
-- errors      ARTUN, WERTB, GBTAU, GBIET, DATUM, STDUN, AKTUN (column names the field);
--             DOPPL the same species, place and date is stored for this user already (detail = its id)
create or replace function api.create_sichtbeobachtung(tenant integer, reader bigint, fields portal.felder)
  returns table (id bigint, guid uuid)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_new portal.sichtbeobachtung;
  v_existing bigint;
begin
  perform private.require_feld(fields,
    '{art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,foto,foto_2,foto_3,biotopfoto,audio}');
  v_new := jsonb_populate_record(null::portal.sichtbeobachtung, fields);
  v_new.point := private.to_point_of_felder(fields);
  v_new.datum := coalesce(v_new.datum, (now() at time zone 'Europe/Berlin')::date);
  perform private.require_reference(tenant, v_new.art, v_new.stadium_id, v_new.aktivitaet_id);

  loop
    insert into portal.sichtbeobachtung as s (
      nutzer_id, art, point, anzahl, sensibel, datum, bereich, bemerkung, stadium_id, aktivitaet_id,
      foto, foto_2, foto_3, biotopfoto, audio)
    values (
      reader, v_new.art, v_new.point, v_new.anzahl, v_new.sensibel, v_new.datum, v_new.bereich, v_new.bemerkung, v_new.stadium_id,
      v_new.aktivitaet_id, v_new.foto, v_new.foto_2, v_new.foto_3, v_new.biotopfoto, v_new.audio)
    on conflict (nutzer_id, art, datum, round(public.st_x(point) * 1000), round(public.st_y(point) * 1000)) do nothing
    returning s.id, s.guid into id, guid;
    if found then
      return next;
      return;
    end if;
    v_existing := private.get_doppelt(reader, v_new.art, v_new.datum, v_new.point);
    if v_existing is not null then
      raise exception 'stored already' using errcode = 'DOPPL', detail = v_existing;
    end if;
    -- deleted between the two statements: it may be stored after all
  end loop;
end
$$;
comment on function api.create_sichtbeobachtung(integer, bigint, portal.felder) is
  'Stores a sighting at a position in EPSG:25832, 4326 or 3857, as the addressed tenant and the user; returns id and guid';

-- Stores many sightings at once, in the order given; a sighting that is stored already is passed over.
--   rows    JSON array of objects: nutzer_id, art, lat, lon, srid, anzahl, sensibel, datum (YYYY-MM-DD), bereich, bemerkung,
--           stadium_id, aktivitaet_id, status, experte_id; all but the first four may be null
-- returns   how many were stored
-- errors    as api.create_sichtbeobachtung
create or replace function api.create_sichtbeobachtungen(rows portal.dokument)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_count bigint;
begin
  insert into portal.sichtbeobachtung (
    nutzer_id, art, point, anzahl, sensibel, datum, bereich, bemerkung, stadium_id, aktivitaet_id, status, experte_id)
  select r.nutzer_id, r.art, private.to_point(r.lat, r.lon, coalesce(r.srid, 25832)), coalesce(r.anzahl, 1), coalesce(r.sensibel, false),
    coalesce(r.datum, (now() at time zone 'Europe/Berlin')::date), coalesce(r.bereich, 'privat'), r.bemerkung, r.stadium_id,
    r.aktivitaet_id, coalesce(r.status, 'pruefung'), r.experte_id
  from json_array_elements(create_sichtbeobachtungen.rows::json) with ordinality e (value, position),
    json_to_record(e.value) r (
      nutzer_id bigint, art integer, lat float8, lon float8, srid integer, anzahl integer, sensibel boolean, datum date,
      bereich portal.bereich, bemerkung text, stadium_id integer, aktivitaet_id integer, status portal.status, experte_id bigint)
  order by e.position
  on conflict do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
comment on function api.create_sichtbeobachtungen(portal.dokument) is
  'Stores many sightings given as a JSON array; returns how many were not there already';
