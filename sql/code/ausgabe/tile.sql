-- Whole tiles, from the layers of ausgabe/tile_layers.sql (O3.2): PostgreSQL packs them, which takes a library that the embedded database is
-- built without.

-- A whole tile, packed. For PostgreSQL. With the rights of the owner (grants.sql), for ST_AsMVT is nobody else's: whoever chooses the rows
-- reads the server's memory with it (gis/dangers.sql). Of a caller there are numbers alone.
create or replace function ausgabe.get_tile(
    z integer, x integer, y integer, art integer, artengruppe_id integer, jahr_von integer, jahr_bis integer, teilung integer)
  returns bytea
  language plpgsql
  stable
as $$
begin
  return coalesce((
      select public.st_asmvt(r, 'raster', 4096, 'geom', 'fid')
      from ausgabe.list_tile_raster(z, x, y, art, artengruppe_id, jahr_von, jahr_bis) r), '')
    || coalesce((
      select public.st_asmvt(r, 'sichtbeobachtung', 4096, 'geom', 'fid')
      from ausgabe.list_tile_sichtbeobachtung(z, x, y, art, artengruppe_id, jahr_von, jahr_bis, teilung) r), '')
    || coalesce((
      select public.st_asmvt(r, 'zelle', 4096, 'geom', 'fid')
      from ausgabe.list_tile_zelle(z, x, y, art, artengruppe_id, jahr_von, jahr_bis) r), '')
    || coalesce((
      select public.st_asmvt(r, 'mandant', 4096, 'geom')
      from ausgabe.list_tile_mandant(z, x, y, teilung) r), '');
end
$$;
comment on function ausgabe.get_tile(integer, integer, integer, integer, integer, integer, integer, integer) is
  'A vector tile with all its layers (PostgreSQL only)';

-- The same features in text, to be packed by the service.
create or replace function ausgabe.list_tile(
    z integer, x integer, y integer, art integer, artengruppe_id integer, jahr_von integer, jahr_bis integer, teilung integer)
  returns table (ebene text, fid bigint, merkmale text, geom text)
  language plpgsql
  stable
as $$
begin
  return query
  select 'raster', r.fid, pg_catalog.json_build_object('meldungen', r.meldungen, 'arten', r.arten)::text, public.st_asgeojson(r.geom, 0, 0)
  from ausgabe.list_tile_raster(z, x, y, art, artengruppe_id, jahr_von, jahr_bis) r
  union all
  select 'sichtbeobachtung', r.fid, pg_catalog.json_build_object('id', r.id)::text, public.st_asgeojson(r.geom, 0, 0)
  from ausgabe.list_tile_sichtbeobachtung(z, x, y, art, artengruppe_id, jahr_von, jahr_bis, teilung) r
  union all
  select 'zelle', r.fid, pg_catalog.json_build_object('meldungen', r.meldungen)::text, public.st_asgeojson(r.geom, 0, 0)
  from ausgabe.list_tile_zelle(z, x, y, art, artengruppe_id, jahr_von, jahr_bis) r
  union all
  select 'mandant', null::bigint, pg_catalog.json_build_object('kuerzel', r.kuerzel, 'name', r.name)::text, public.st_asgeojson(r.geom, 0, 0)
  from ausgabe.list_tile_mandant(z, x, y, teilung) r;
end
$$;
comment on function ausgabe.list_tile(integer, integer, integer, integer, integer, integer, integer, integer) is
  'What is in a vector tile: layer, number, attributes as JSON, geometry as GeoJSON in coordinates of the tile';

-- Whether this database packs tiles.
create or replace function ausgabe.can_pack_tile()
  returns boolean
  language sql
  stable
as $$
  select public.postgis_libprotobuf_version() is not null
    and pg_catalog.has_function_privilege(p.proowner, 'public.st_asmvt(anyelement, text, integer, text, text)', 'execute')
    and pg_catalog.has_function_privilege(p.proowner, 'public.st_asmvt(anyelement, text, integer, text)', 'execute')
  from pg_catalog.pg_proc p
  where p.pronamespace = 'ausgabe'::regnamespace and p.proname = 'get_tile'
$$;
comment on function ausgabe.can_pack_tile() is
  'Whether ausgabe.get_tile works here: PostGIS was built with protobuf, and the owner may use it';
