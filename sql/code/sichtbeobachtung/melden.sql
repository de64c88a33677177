-- Reporting, editing, publishing, reviewing and deleting sightings (api-v2 States and transitions, D3). Before anything is changed the
-- record is locked and rights are looked at after that, so that an author's edit and an expert's release can't cross.

-- Fails unless all of these names are allowed.
--   allowed  by default the fields that people write: those of src/sichtbeobachtung-felder.ts and files. As the interface names them, which are the columns'
--            names too; lat, lon and srid together stand for the point. A new one is stored by the `insert` and the `update` below.
-- errors     22023 another one
create or replace function private.require_feld(
  fields portal.felder,
  allowed text[] default
    '{art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,medien_lizenz,foto,foto_2,foto_3,biotopfoto,audio}')
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

-- Whether two reports are the same one (D2.6): user, species, date and place to the millimetre. Scalars instead of rows, so that it is
-- inlined where it stands and the unique index sichtbeobachtung_doppelt finds the records. Where a key is wanted instead of an answer it is
-- written out: in that index (src/db/schema/sichtbeobachtung.ts), behind `on conflict` below, and where the lines of an import are compared
-- with each other (sichtbeobachtung/import.sql, in two functions).
--   point, other_point  EPSG:25832
create or replace function private.is_doppelt(
  nutzer_id bigint, art integer, datum date, point public.geometry,
  other_nutzer_id bigint, other_art integer, other_datum date, other_point public.geometry)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select nutzer_id = other_nutzer_id and art = other_art and datum = other_datum
    and round(public.st_x(point) * 1000) = round(public.st_x(other_point) * 1000)
    and round(public.st_y(point) * 1000) = round(public.st_y(other_point) * 1000)
$$;

-- The record that is the same report. Null when there is none.
--   point  EPSG:25832
create or replace function private.get_doppelt(nutzer_id bigint, art integer, datum date, point public.geometry)
  returns bigint
  language sql
  stable
as $$
  select s.id
  from portal.sichtbeobachtung s
  where private.is_doppelt(
    s.nutzer_id, s.art, s.datum, s.point, get_doppelt.nutzer_id, get_doppelt.art, get_doppelt.datum, get_doppelt.point)
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

-- Stores a sighting (api-v2 POST /sichtbeobachtungen).
--   tenant    the addressed tenant, which must define the species
--   reader    the recorder
--   fields    JSON object, see private.require_feld: lat and lon are northing and easting in the unit of srid (25832, 4326 or 3857), datum
--             is YYYY-MM-DD, null for today in Europe/Berlin, foto … audio are names of stored files
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
  perform private.require_feld(fields);
  v_new := jsonb_populate_record(null::portal.sichtbeobachtung, fields);
  v_new.point := private.to_point_of_felder(fields);
  v_new.datum := coalesce(v_new.datum, (now() at time zone 'Europe/Berlin')::date);
  perform private.require_reference(tenant, v_new.art, v_new.stadium_id, v_new.aktivitaet_id);

  loop
    insert into portal.sichtbeobachtung as s (
      nutzer_id, art, point, anzahl, sensibel, datum, bereich, bemerkung, stadium_id, aktivitaet_id, medien_lizenz,
      foto, foto_2, foto_3, biotopfoto, audio)
    values (
      reader, v_new.art, v_new.point, v_new.anzahl, v_new.sensibel, v_new.datum, v_new.bereich, v_new.bemerkung, v_new.stadium_id,
      v_new.aktivitaet_id, v_new.medien_lizenz, v_new.foto, v_new.foto_2, v_new.foto_3, v_new.biotopfoto, v_new.audio)
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

-- Changes a sighting: the author's edit or publication, or the expert's review.
--   tenant    the addressed tenant, which must define a species that is set anew
--   reader    who asks
--   fields    JSON object of the fields that were sent, as of api.create_sichtbeobachtung, and status; a field that is not in it stays as
--             it is, null clears what may be missing; lat, lon and srid together or not at all
-- returns     names of files that the record no longer has
-- errors      NFUND unknown id; NRCHT not permitted, nothing is changed (D2.5, D3.5); ARTUN, STDUN, AKTUN, WERTB, GBTAU,
--             GBIET, DATUM; DOPPL the change would make it equal to another record (detail = its id)
create or replace function api.update_sichtbeobachtung(tenant integer, reader bigint, id bigint, fields portal.felder)
  returns text[]
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_sent text[] := array(select jsonb_object_keys(fields));
  v_record portal.sichtbeobachtung;
  v_new portal.sichtbeobachtung;
  v_author boolean;
  v_review boolean;
  v_existing bigint;
begin
  perform private.require_feld(fields - 'status');
  -- Before the row, in the order of everyone who takes both.
  perform private.require_catalogue_lock(exclusive => false);
  select s.* into v_record from portal.sichtbeobachtung s where s.id = update_sichtbeobachtung.id for no key update;
  if not found then
    raise exception 'no such sighting' using errcode = 'NFUND';
  end if;
  select r.author, r.review into strict v_author, v_review from private.get_recht(v_record, reader) r;
  -- What was sent, and the rest as it is.
  v_new := jsonb_populate_record(v_record, fields);

  -- The licence of their own files is theirs, also after the release (O5.5).
  if v_sent = '{medien_lizenz}' and v_record.nutzer_id = reader then
    update portal.sichtbeobachtung s set medien_lizenz = v_new.medien_lizenz where s.id = v_record.id;
    return '{}';
  end if;

  if v_review then
    if not v_sent <@ '{status,bemerkung}' then
      raise exception 'experts change status and remark only' using errcode = 'NRCHT';
    end if;
    if private.set_status(
      v_record.id, reader, v_new.status, case when fields ? 'bemerkung' then coalesce(v_new.bemerkung, '') end,
      gefragt => fields ? 'status') is not null then
      raise exception 'another person must release it' using errcode = 'NRCHT';
    end if;
    return '{}';
  end if;

  if not v_author or fields ? 'status' or (v_record.bereich = 'oeffentlich' and not v_sent <@ '{bereich}') then
    raise exception 'not permitted' using errcode = 'NRCHT';
  end if;

  perform private.require_reference(
    tenant,
    case when fields ? 'art' then v_new.art end,
    case when fields ? 'stadium_id' then v_new.stadium_id end,
    case when fields ? 'aktivitaet_id' then v_new.aktivitaet_id end);
  if fields ? 'lat' then
    v_new.point := private.to_point_of_felder(fields);
  end if;
  v_new.datum := coalesce(v_new.datum, (now() at time zone 'Europe/Berlin')::date);
  begin
    update portal.sichtbeobachtung s
    set art = v_new.art, point = v_new.point, datum = v_new.datum, anzahl = v_new.anzahl, sensibel = v_new.sensibel,
      bereich = v_new.bereich, bemerkung = v_new.bemerkung, stadium_id = v_new.stadium_id, aktivitaet_id = v_new.aktivitaet_id,
      medien_lizenz = v_new.medien_lizenz,
      foto = v_new.foto, foto_2 = v_new.foto_2, foto_3 = v_new.foto_3, biotopfoto = v_new.biotopfoto, audio = v_new.audio
    where s.id = v_record.id;
  exception when unique_violation then
    v_existing := private.get_doppelt(v_new.nutzer_id, v_new.art, v_new.datum, v_new.point);
    if v_existing is null then
      raise exception 'deleted meanwhile, try again' using errcode = '40001';
    end if;
    raise exception 'stored already' using errcode = 'DOPPL', detail = v_existing;
  end;
  return private.list_medium_removed(v_record, (select s from portal.sichtbeobachtung s where s.id = v_record.id));
end
$$;
comment on function api.update_sichtbeobachtung(integer, bigint, bigint, portal.felder) is
  'Changes the fields of a sighting that were sent as its author, or reviews it as expert or administrator; returns files it no longer has';

-- returns  names of the files that it had
-- errors   NFUND unknown id; NRCHT not permitted
create or replace function api.delete_sichtbeobachtung(reader bigint, id bigint)
  returns text[]
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_record portal.sichtbeobachtung;
begin
  perform private.require_catalogue_lock(exclusive => false);
  select s.* into v_record from portal.sichtbeobachtung s where s.id = delete_sichtbeobachtung.id for update;
  if not found then
    raise exception 'no such sighting' using errcode = 'NFUND';
  end if;
  if not (select r.delete from private.get_recht(v_record, reader) r) then
    raise exception 'not permitted' using errcode = 'NRCHT';
  end if;
  delete from portal.sichtbeobachtung s where s.id = v_record.id;
  return private.list_medium_removed(v_record, null);
end
$$;
comment on function api.delete_sichtbeobachtung(bigint, bigint) is
  'Deletes a sighting as its author, unless it is released, or as administrator when it is published; returns the files it had';

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
