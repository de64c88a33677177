-- What instances of the last release, 0.28, still call while they are being replaced. It hands on to what is there now and knows nothing
-- itself.

-- What a page calls that was under way when the functions were replaced.
create or replace function private.is_frei(bereich portal.bereich, status portal.status)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select private.is_shown_to_all(bereich, status)
$$;

create or replace function private.is_verlauf(verlauf portal.abgleich_verlauf)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return private.is_current_verlauf(verlauf);
end
$$;

-- What a replica must have in common with its primary before it is read in its place (P3.2).
-- returns  verlauf: the present part of the feed; is_current: the primary has not been started, restored or made one since that was
--          written; code: of these functions
create or replace function api.get_server()
  returns table (verlauf integer, is_current boolean, code text)
  language plpgsql
  stable
  rows 1
as $$
declare
  v_verlauf portal.abgleich_verlauf;
begin
  select * into v_verlauf from portal.abgleich_verlauf v order by v.nummer desc limit 1;
  verlauf := v_verlauf.nummer;
  is_current := private.is_current_verlauf(v_verlauf);
  code := (select i.code_hash from portal.installation i);
  return next;
end
$$;
comment on function api.get_server() is 'What a replica must have in common with its primary before it is read in its place';

-- They compare the login name themselves.
create or replace function api.use_nutzer_loesch_link(hash bytea, saetze portal.kurztext)
  returns bigint
  language plpgsql
  volatile
as $$
begin
  return api.use_nutzer_loesch_link(hash, saetze, (select l.loginname from api.get_nutzer_daten_link(use_nutzer_loesch_link.hash) l));
end
$$;
comment on function api.use_nutzer_loesch_link(bytea, portal.kurztext) is
  'Begins the erasure of the account that a link to the own data belongs to; for instances of release 0.28';

-- The tenants, as outputs name them.
create or replace function ausgabe.list_mandant()
  returns table (kuerzel text, name text)
  language sql
  stable
as $$
  select m.kuerzel, m.name from gis.mandant m order by pg_catalog.lower(m.kuerzel)
$$;
comment on function ausgabe.list_mandant() is 'Tenants by abbreviation, as outputs name them';

-- `npm run migrate` of 0.28 asks what analysts have beyond reading. That is told no more.
create or replace function api.list_recht_auswertung()
  returns table (rolle text, eigenes bigint, beispiele text[], anweisungen text[])
  language sql
  stable
as $$
  select null::text, 0::bigint, '{}'::text[], '{}'::text[] where false
$$;
comment on function api.list_recht_auswertung() is 'Nothing; for npm run migrate of release 0.28';

create or replace function api.list_zugang_anderswo()
  returns table (login name, datenbank name)
  language sql
  stable
as $$
  select null::name, null::name where false
$$;
comment on function api.list_zugang_anderswo() is 'Nothing; for npm run migrate of release 0.28';

-- Of release 0.29: sightings of both kinds.
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
