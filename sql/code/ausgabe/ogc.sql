-- Features for GIS programs (O2): pages of sightings and of tenants as GeoJSON.
--
-- Pages of sightings, by the order in which they are walked; what is given back as the key of the last one goes on behind it.
--
-- | asked for | order | key | at 10 million, a page of 1000 |
-- | --- | --- | --- | --- |
-- | a box, a tenant | by cell, then by id | cell_x, cell_y, id | 5 ms for 100 km: hardly more rows are read than the page has |
-- | anything else | newest first | id | 1 ms; a filter that matches one record in a hundred: 60 ms |
--
-- Newest first inside a box took 20 to 30 ms, with the nearest-id walk of a spatial index as well as back from the newest record.

-- The sightings that match, in the order of the page: where their rows lie. Found again by their ids, they took a third longer to be written.
--   box        left, bottom, right, top in the unit of box_srid, easting or longitude first
--   after_key  key of the last feature of the page before
--   form       punkt: what is not masked, quadrat: what is; null for both
-- errors       MANUN (column mandant) no such tenant
create or replace function ausgabe.list_sichtbeobachtung_zeile(
    art integer, gid integer, datum_von date, datum_bis date, mandant text, box float8[], box_srid integer, after_key bigint[],
    row_limit integer, form text)
  returns tid[]
  language plpgsql
  stable
  -- Else the planner fetches all that match, and sorts them.
  set enable_sort = off
  set enable_incremental_sort = off
  set enable_bitmapscan = off
  set enable_seqscan = off
  set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_variable
declare
  -- So many are found by their species or day and sorted; more are met soon enough on the walk.
  v_few constant integer := 20000;
  v_art integer[];
  v_boundary public.geometry;
  v_envelope public.geometry;
  v_area public.geometry;
  v_extent public.geometry;
  v_chosen text := '';
  v_where text := '';
  v_is_few boolean := false;
  v_zeile tid[];
begin
  if art is not null or gid is not null then
    v_art := ausgabe.to_arten(art, gid);
    v_chosen := v_chosen || ' and g.art = any ($1)';
  end if;
  if datum_von is not null or datum_bis is not null then
    v_chosen := v_chosen || ' and g.datum between coalesce($2, ''-infinity'') and coalesce($3, ''infinity'')';
  end if;
  if form = 'quadrat' then
    v_chosen := v_chosen || ' and g.unschaerfe_m > 0';
  elsif form = 'punkt' then
    v_where := v_where || ' and g.unschaerfe_m = 0';
  end if;
  if mandant is not null then
    select m.boundary into v_boundary from gis.mandant m where pg_catalog.lower(m.kuerzel) = pg_catalog.lower(mandant);
    if not found then
      raise exception 'no such tenant' using errcode = 'MANUN', column = 'mandant';
    end if;
    v_extent := public.st_envelope(v_boundary);
    v_where := v_where || ' and public.st_intersects($4, g.place)';
  end if;
  if box is not null then
    v_envelope := ausgabe.to_envelope(box, box_srid);
    v_area := ausgabe.to_area(box, box_srid);
    if v_area is null then
      return '{}';
    end if;
    -- A thousandth more, because between the corners that were computed an edge may bulge.
    v_extent := public.st_expand(v_area, 1 + 0.001
      * greatest(public.st_xmax(v_area) - public.st_xmin(v_area), public.st_ymax(v_area) - public.st_ymin(v_area)));
    -- First by what costs next to nothing: a cell that the box cuts may hold many that lie outside.
    v_where := v_where || ' and (g.unschaerfe_m > 0 or g.place operator(public.&&) $7)'
      || ' and ausgabe.is_shown_in(g.place, g.unschaerfe_m, $5, $6)';
  end if;
  if v_chosen <> '' then
    execute 'select count(*) <= $4 from (select from gis.sichtbeobachtung g where true' || v_chosen || ' limit $4 + 1) f'
      into v_is_few using v_art, datum_von, datum_bis, v_few;
  end if;

  if v_is_few then
    execute 'with g as materialized (select g.id, g.zeile, g.cell_x, g.cell_y, g.place, g.unschaerfe_m from gis.sichtbeobachtung_raster g where true'
      || v_chosen || ') select array(select g.zeile from g where ' || case when v_extent is null then 'g.id < $8[1]' || v_where
        || ' order by g.id desc' else '(g.cell_x, g.cell_y, g.id) > ($8[1], $8[2], $8[3])' || v_where
        || ' order by g.cell_x, g.cell_y, g.id' end || ' limit $9)'
      into v_zeile using v_art, datum_von, datum_bis, v_boundary, v_envelope, v_area, v_extent,
        coalesce(after_key, case when v_extent is null then array[9223372036854775807] else array[-1e9, -1e9, 0]::bigint[] end), row_limit;
  elsif box is not null then
    v_zeile := ausgabe.list_sichtbeobachtung_zeile_of_box(
      v_art, coalesce(datum_von, '-infinity'), coalesce(datum_bis, 'infinity'), v_boundary, box, box_srid, after_key, row_limit, form);
  elsif v_extent is null then
    execute 'select array(select g.zeile from gis.sichtbeobachtung_raster g where g.id < $4' || v_chosen || v_where || ' order by g.id desc limit $5)'
      into v_zeile using v_art, datum_von, datum_bis, coalesce(after_key[1], 9223372036854775807), row_limit;
  else
    -- Column by column of the grid: those behind the page are never looked at.
    execute 'select array(select w.zeile from pg_catalog.generate_series(greatest($8, $12[1]), $10) c (x)
      cross join lateral (
        select g.zeile
        from gis.sichtbeobachtung_raster g
        where g.cell_x = c.x and g.cell_y between $9 and $11
          and (g.cell_y, g.id) > (case when c.x = $12[1] then $12[2] else $9 - 1 end, case when c.x = $12[1] then $12[3] else 0 end)'
      || v_chosen || v_where || ' order by g.cell_y, g.id limit $13) w limit $13)'
      into v_zeile using v_art, datum_von, datum_bis, v_boundary, v_envelope, v_area, v_extent,
        greatest(ausgabe.to_cell(public.st_xmin(v_extent)), (select g.cell_x from gis.sichtbeobachtung g order by g.cell_x limit 1)),
        ausgabe.to_cell(public.st_ymin(v_extent)),
        least(ausgabe.to_cell(public.st_xmax(v_extent)), (select g.cell_x from gis.sichtbeobachtung g order by g.cell_x desc limit 1)),
        ausgabe.to_cell(public.st_ymax(v_extent)), after_key, row_limit;
  end if;
  return v_zeile;
end
$$;
comment on function ausgabe.list_sichtbeobachtung_zeile(integer, integer, date, date, text, float8[], integer, bigint[], integer, text) is
  'Sightings by species, group, days, tenant, box and kind, in the order of a page';

-- Sightings as GeoJSON features, in the order of their rows as given: piece by piece, because a page in one piece is copied several times
-- in memory that is fetched for it, a seventh of the time. Each piece is a page of its own to who reads no further.
--   zeile              as in gis.sichtbeobachtung
--   row_limit          so many of them; from those behind it is known that there is a further page
--   by_cell            keys are those of the walk by cells
--   srid, north_first  as in ausgabe.to_geojson
-- returns              features, with a comma and a line break between them; last_key: what the next piece begins behind, null on the last;
--                      how many
create or replace function ausgabe.render_sichtbeobachtung_zeile(
    zeile tid[], row_limit integer, by_cell boolean, srid integer, north_first boolean)
  returns table (features text, last_key text, returned integer)
  language plpgsql
  stable
  -- A thousand names are looked up one by one: a join would read all species each time.
  set enable_hashjoin = off
  set enable_mergejoin = off
  -- Days are written as JSON has them.
  set datestyle = iso
as $$
declare
  -- More cost nothing less.
  v_step constant integer := 128;
  v_last constant integer := least(row_limit, cardinality(zeile));
  v_to integer;
  v_bytes bigint := 0;
begin
  for v_from in 1 .. v_last by v_step loop
    v_to := least(v_from + v_step - 1, v_last);
    select pg_catalog.string_agg(f.feature, E',\n'), count(*) into features, returned
    from (
      -- Put together in one step: row_to_json and a chain of concatenations took a quarter longer.
      select concat(
        '{"type":"Feature","id":', s.id, ',"geometry":',
        case
          when s.unschaerfe_m > 0 then
            ausgabe.to_geojson(
              ausgabe.to_cell_polygon(s.place), render_sichtbeobachtung_zeile.srid, render_sichtbeobachtung_zeile.north_first)
          else ausgabe.to_geojson_point(s.place, render_sichtbeobachtung_zeile.srid, render_sichtbeobachtung_zeile.north_first)
        end,
        ',"properties":{"id":', s.id, ',"guid":"', s.guid, '","art":', s.art, ',"name_deutsch":', coalesce(to_json(s.name_deutsch)::text, 'null'),
        ',"name_wissenschaftlich":', to_json(s.name_wissenschaftlich), ',"gid":', s.gid, ',"artengruppe":', to_json(s.artengruppe),
        ',"is_animal":', s.is_animal::text, ',"datum":"', s.datum, '","jahr":', s.jahr, ',"anzahl":', s.anzahl,
        ',"stadium":', coalesce(to_json(s.stadium)::text, 'null'), ',"aktivitaet":', coalesce(to_json(s.aktivitaet)::text, 'null'),
        ',"bemerkung":', coalesce(to_json(s.bemerkung)::text, 'null'), ',"unschaerfe_m":', s.unschaerfe_m,
        ',"cell_x":', s.cell_x, ',"cell_y":', s.cell_y, ',"phaenogramm":', s.phaenogramm::text, ',"geaendert":"', s.geaendert, '"}}')
      -- A series, of which the planner expects a thousand: of `unnest` it expects ten, and looks the same few groups and stages up for each.
      from pg_catalog.generate_series(v_from, v_to) with ordinality u (place, n)
      join gis.sichtbeobachtung s on s.zeile = render_sichtbeobachtung_zeile.zeile[u.place]
      order by u.n) f (feature);
    v_bytes := v_bytes + pg_catalog.octet_length(features);
    exit when v_bytes > ausgabe.get_max_bytes() and v_from > 1;
    last_key := case when v_to < cardinality(zeile) then (
      select case when by_cell then pg_catalog.concat_ws('_', l.cell_x, l.cell_y, l.id) else l.id::text end
      from gis.sichtbeobachtung_raster l
      where l.zeile = render_sichtbeobachtung_zeile.zeile[v_to]) end;
    return next;
  end loop;
end
$$;
comment on function ausgabe.render_sichtbeobachtung_zeile(tid[], integer, boolean, integer, boolean) is
  'Sightings as GeoJSON features: a point, or the square of the cell where that is all that everybody may see';

-- The same of numbers, as one text: for as few as a piece holds.
create or replace function ausgabe.render_sichtbeobachtung_of_id(id bigint[], srid integer, north_first boolean)
  returns text
  language sql
  stable
as $$
  select pg_catalog.string_agg(r.features, E',\n')
  from ausgabe.render_sichtbeobachtung_zeile(
    array(
      select s.zeile
      from pg_catalog.unnest(render_sichtbeobachtung_of_id.id) with ordinality u (id, n)
      join gis.sichtbeobachtung_raster s on s.id = u.id
      order by u.n),
    cardinality(render_sichtbeobachtung_of_id.id), false, srid, north_first) r
$$;
comment on function ausgabe.render_sichtbeobachtung_of_id(bigint[], integer, boolean) is 'Sightings of these numbers as GeoJSON features, at most 128';

-- Boundaries and remarks may be long: a page ends early before it holds more bytes.
create or replace function ausgabe.get_max_bytes()
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select 16777216
$$;
comment on function ausgabe.get_max_bytes() is 'Bytes of a page of features';

-- A page from the features that were made for it, one more than it holds: that one tells whether there is a further page.
--   feature, lage  features and their keys, in the order of the page
-- returns            features: with a comma and a line break between them; last_key: what the next page begins behind, null on the last
create or replace function ausgabe.to_feature_page(feature text[], lage text[], row_limit integer)
  returns table (features text, last_key text, returned integer)
  language plpgsql
  immutable
  rows 1
as $$
begin
  returned := least(row_limit, cardinality(feature));
  if pg_column_size(feature) > ausgabe.get_max_bytes() then
    returned := least(returned, greatest(1, (
      select count(*)
      from (select sum(octet_length(u.f)) over (order by u.n) as bytes from unnest(feature) with ordinality u (f, n)) c
      where c.bytes <= ausgabe.get_max_bytes())));
  end if;
  features := array_to_string(feature[:returned], E',\n');
  last_key := case when cardinality(feature) > returned then lage[returned] end;
  return next;
end
$$;
comment on function ausgabe.to_feature_page(text[], text[], integer) is 'Features of a page put together, 16 MiB at most';

-- A page of sightings, in pieces. Parameters as in the functions above.
--   skip  so many are left out at its beginning
create or replace function ausgabe.list_sichtbeobachtung(
    art integer, gid integer, datum_von date, datum_bis date, mandant text, box float8[], box_srid integer, after_key bigint[],
    skip integer, row_limit integer, srid integer, north_first boolean, form text)
  returns table (features text, last_key text, returned integer)
  language plpgsql
  stable
as $$
begin
  return query
  select r.features, r.last_key, r.returned
  from ausgabe.render_sichtbeobachtung_zeile(
    (ausgabe.list_sichtbeobachtung_zeile(
      art, gid, datum_von, datum_bis, mandant, box, box_srid, after_key, skip + row_limit + 1, form))[skip + 1:],
    row_limit, box is not null or mandant is not null, srid, north_first) r;
end
$$;
comment on function ausgabe.list_sichtbeobachtung(
  integer, integer, date, date, text, float8[], integer, bigint[], integer, integer, integer, boolean, text) is
  'Sightings as a page of GeoJSON features, by species, group, days, tenant, box and kind';

create or replace function ausgabe.get_sichtbeobachtung(id bigint, srid integer, north_first boolean, form text)
  returns text
  language sql
  stable
as $$
  select r.features
  from gis.sichtbeobachtung_raster g
  cross join lateral ausgabe.render_sichtbeobachtung_zeile(array[g.zeile], 1, false, srid, north_first) r
  where g.id = get_sichtbeobachtung.id and (form is null or (g.unschaerfe_m > 0) = (form = 'quadrat'))
$$;
comment on function ausgabe.get_sichtbeobachtung(bigint, integer, boolean, text) is
  'One sighting as a GeoJSON feature, null where everybody may see none of this kind';
