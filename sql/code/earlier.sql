-- What instances of the last release, 0.29, still call while they are being replaced. It hands on to what is there now and knows nothing
-- itself.

-- Sightings of both kinds.
create or replace function ausgabe.list_sichtbeobachtung_id_of_box(
    arten integer[], datum_von date, datum_bis date, mandant_grenze public.geometry, box float8[], box_srid integer,
    after_key bigint[], row_limit integer)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return ausgabe.list_sichtbeobachtung_id_of_box(
    arten, datum_von, datum_bis, mandant_grenze, box, box_srid, after_key, row_limit, null);
end
$$;
comment on function ausgabe.list_sichtbeobachtung_id_of_box(
  integer[], date, date, public.geometry, float8[], integer, bigint[], integer) is
  'Sightings in a box by species, days and boundary, in the order of a page; for instances of release 0.29';

create or replace function ausgabe.list_sichtbeobachtung_id(
    art integer, gid integer, datum_von date, datum_bis date, mandant text, box float8[], box_srid integer, after_key bigint[],
    row_limit integer)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return ausgabe.list_sichtbeobachtung_id(
    art, gid, datum_von, datum_bis, mandant, box, box_srid, after_key, row_limit, null);
end
$$;
comment on function ausgabe.list_sichtbeobachtung_id(integer, integer, date, date, text, float8[], integer, bigint[], integer) is
  'Sightings by species, group, days, tenant and box, in the order of a page; for instances of release 0.29';

create or replace function ausgabe.list_sichtbeobachtung(
    art integer, gid integer, datum_von date, datum_bis date, mandant text, box float8[], box_srid integer, after_key bigint[],
    skip integer, row_limit integer, srid integer, north_first boolean)
  returns table (features text, last_key text, returned integer)
  language plpgsql
  stable
  rows 1
as $$
begin
  return query
  select l.features, l.last_key, l.returned
  from ausgabe.list_sichtbeobachtung(
    art, gid, datum_von, datum_bis, mandant, box, box_srid, after_key, skip, row_limit, srid, north_first, null) l;
end
$$;
comment on function ausgabe.list_sichtbeobachtung(
  integer, integer, date, date, text, float8[], integer, bigint[], integer, integer, integer, boolean) is
  'Sightings as a page of GeoJSON features; for instances of release 0.29';

create or replace function ausgabe.get_sichtbeobachtung(id bigint, srid integer, north_first boolean)
  returns text
  language sql
  stable
as $$
  select ausgabe.get_sichtbeobachtung(id, srid, north_first, null)
$$;
comment on function ausgabe.get_sichtbeobachtung(bigint, integer, boolean) is
  'One sighting as a GeoJSON feature; for instances of release 0.29';
