-- The walk through a box of /ogc: its sightings by cell, and by id in each.

-- The sightings in a box, by cell and then by id. Where an edge of the box cuts cells, one by one: such a cell may hold thousands
-- that lie outside, so that what lies inside is found by place, or by id where much does; but those of a column that holds few at once. So
-- are all others of a column, and unchecked.
--   arten                 species; null for all
--   datum_von, datum_bis  days, both included
--   mandant_grenze        EPSG:25832: only what lies in it; null for everywhere
--   box, box_srid         as in ausgabe.list_sichtbeobachtung_zeile
--   after_key             cell_x, cell_y, id: what lies behind that
--   form                  as in ausgabe.list_sichtbeobachtung_zeile
create or replace function ausgabe.list_sichtbeobachtung_zeile_of_box(
    arten integer[], datum_von date, datum_bis date, mandant_grenze public.geometry, box float8[], box_srid integer,
    after_key bigint[], row_limit integer, form text)
  returns tid[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_incremental_sort = off
  set enable_bitmapscan = off
  set enable_seqscan = off
  set max_parallel_workers_per_gather = 0
  -- Compiling takes longer than any of its statements.
  set jit = off
as $$
#variable_conflict use_variable
declare
  v_envelope constant public.geometry := ausgabe.to_envelope(box, box_srid);
  v_area constant public.geometry := ausgabe.to_area(box, box_srid);
  -- Between the corners that were computed an edge may bulge, by less than a thousandth. A metre, because squares have edges in common.
  v_margin constant float8 := 1 + case when box_srid = 25832 then 0 else
    0.001 * greatest(public.st_xmax(v_area) - public.st_xmin(v_area), public.st_ymax(v_area) - public.st_ymin(v_area)) end;
  v_inner constant public.geometry := case when box_srid = 25832 then v_area else public.st_buffer(v_area, -v_margin) end;
  v_first constant integer := greatest(
    ausgabe.to_cell(public.st_xmin(v_area) - v_margin), after_key[1], (select g.cell_x from gis.sichtbeobachtung_raster g order by g.cell_x limit 1));
  v_last constant integer := least(
    ausgabe.to_cell(public.st_xmax(v_area) + v_margin), (select g.cell_x from gis.sichtbeobachtung_raster g order by g.cell_x desc limit 1));
  v_zeile tid[] := '{}';
  v_found tid[];
  v_part public.geometry;
  v_cell public.geometry;
  v_left public.geometry;
  v_right public.geometry;
  v_from integer;
  v_to integer;
  v_whole_from integer;
  v_whole_to integer;
  v_y integer;
  v_upto integer;
  v_after_id bigint;
  v_rest integer;
  v_near public.geometry;
  v_walk integer;
  v_many integer;
  v_is_many boolean;
  v_is_few boolean;
begin
  for v_x in v_first .. v_last loop
    v_from := (select g.cell_y from gis.sichtbeobachtung_raster g where g.cell_x = v_x order by g.cell_y limit 1);
    continue when v_from is null;
    v_to := (select g.cell_y from gis.sichtbeobachtung_raster g where g.cell_x = v_x order by g.cell_y desc limit 1);
    v_part := public.st_intersection(v_area, ausgabe.to_cells(v_x, v_x, v_from, v_to, v_margin));
    continue when public.st_isempty(v_part);
    v_from := greatest(v_from, ausgabe.to_cell(public.st_ymin(v_part) - v_margin));
    v_to := least(v_to, ausgabe.to_cell(public.st_ymax(v_part) + v_margin));
    -- Cells whose corners all lie inside.
    v_left := public.st_intersection(v_inner, ausgabe.to_meridian(v_x));
    v_right := public.st_intersection(v_inner, ausgabe.to_meridian(v_x + 1));
    v_whole_from := -ausgabe.to_cell(-greatest(public.st_ymin(v_left), public.st_ymin(v_right)));
    v_whole_to := ausgabe.to_cell(least(public.st_ymax(v_left), public.st_ymax(v_right))) - 1;
    if public.st_isempty(v_left) or public.st_isempty(v_right) or v_whole_from > v_whole_to then
      v_whole_from := v_to + 1;
      v_whole_to := v_to;
    end if;
    v_y := v_from;
    v_after_id := 0;
    if v_x = after_key[1] then
      v_y := greatest(v_y, after_key[2]);
      v_after_id := case when v_y = after_key[2] then after_key[3] else 0 end;
    end if;
    -- A column with so few is read faster than its cells are searched one by one.
    v_is_few := not exists (
      select from gis.sichtbeobachtung_raster g where g.cell_x = v_x and g.cell_y between v_y and v_to offset 1000);
    while v_y <= v_to loop
      v_upto := v_y;
      v_rest := row_limit - cardinality(v_zeile);
      if v_y between v_whole_from and v_whole_to then
        v_upto := v_whole_to;
        v_found := array(
          select g.zeile
          from gis.sichtbeobachtung_raster g
          where g.cell_x = v_x and g.cell_y between v_y and v_upto and (g.cell_y, g.id) > (v_y, v_after_id)
            and g.datum between datum_von and datum_bis and (arten is null or g.art = any (arten))
            and (form is null or (g.unschaerfe_m > 0) = (form = 'quadrat'))
            and (mandant_grenze is null or public.st_intersects(mandant_grenze, g.place))
          order by g.cell_y, g.id
          limit v_rest);
      else
        if v_is_few then
          v_upto := case when v_y < v_whole_from then v_whole_from - 1 else v_to end;
        end if;
        v_cell := ausgabe.to_cells(v_x, v_x, v_y, v_upto, 0);
        v_part := public.st_intersection(v_area, public.st_expand(v_cell, v_margin));
        if public.st_isempty(v_part) then
          v_found := '{}';
        else
          v_near := public.st_expand(public.st_envelope(v_part), v_margin);
          v_walk := case
            when v_is_few then null
            when public.st_area(public.st_envelope(v_part)) > public.st_area(v_cell) / 2 then 4 * v_rest
            else 0 end;
          -- With so many by place, those of the page are among about as many that lie behind one another, in a cell of 400 000.
          v_many := ceil(600 * sqrt(v_rest));
          loop
            if v_walk is distinct from 0 then
              -- `between`, because with both constant the planner goes through the records of all cells by id.
              v_found := array(
                select w.zeile
                from (
                  select g.zeile, g.art, g.datum, g.place, g.unschaerfe_m
                  from gis.sichtbeobachtung_raster g
                  where g.cell_x = v_x and g.cell_y between v_y and v_upto and (g.cell_y, g.id) > (v_y, v_after_id)
                  order by g.cell_y, g.id
                  limit v_walk) w
                where w.datum between datum_von and datum_bis and (arten is null or w.art = any (arten))
                  and (form is null or (w.unschaerfe_m > 0) = (form = 'quadrat'))
                  and (w.unschaerfe_m > 0 or w.place operator(public.&&) v_near)
                  and (mandant_grenze is null or public.st_intersects(mandant_grenze, w.place))
                  and ausgabe.is_shown_in(w.place, w.unschaerfe_m, v_envelope, v_area)
                limit v_rest);
              exit when v_walk is null or cardinality(v_found) = v_rest;
            end if;
            -- `offset 0`: by place and nothing else. The place of a masked record is the middle of its cell.
            with near as materialized (
              (
                select n.id, n.zeile, n.place, n.unschaerfe_m
                from (
                  select g.id, g.zeile, g.art, g.datum, g.place, g.unschaerfe_m, g.cell_x, g.cell_y
                  from gis.sichtbeobachtung_raster g
                  where g.place operator(public.&&) v_near and g.unschaerfe_m = 0 and form is distinct from 'quadrat'
                  offset 0) n
                where n.cell_x = v_x and n.cell_y = v_y
                  and n.datum between datum_von and datum_bis and (arten is null or n.art = any (arten))
                limit v_many
              )
              union all
              (
                select n.id, n.zeile, n.place, n.unschaerfe_m
                from (
                  select g.id, g.zeile, g.art, g.datum, g.place, g.unschaerfe_m, g.cell_x, g.cell_y
                  from gis.sichtbeobachtung_raster g
                  where g.place operator(public.&&) public.st_expand(public.st_centroid(v_cell), 1) and g.unschaerfe_m > 0
                    and form is distinct from 'punkt'
                  offset 0) n
                where n.cell_x = v_x and n.cell_y = v_y
                  and n.datum between datum_von and datum_bis and (arten is null or n.art = any (arten))
                limit v_many
              )
            ), size as materialized (select count(*) >= v_many as is_many from near)
            select z.is_many, array(
              select n.zeile
              from near n
              where n.id > v_after_id and (mandant_grenze is null or public.st_intersects(mandant_grenze, n.place))
                and ausgabe.is_shown_in(n.place, n.unschaerfe_m, v_envelope, v_area) and not z.is_many
              order by n.id
              limit v_rest)
            into v_is_many, v_found
            from size z;
            exit when not v_is_many;
            v_walk := null;
          end loop;
        end if;
      end if;
      v_zeile := v_zeile || v_found;
      if cardinality(v_zeile) = row_limit then
        return v_zeile;
      end if;
      v_y := v_upto + 1;
      v_after_id := 0;
    end loop;
  end loop;
  return v_zeile;
end
$$;
comment on function ausgabe.list_sichtbeobachtung_zeile_of_box(
  integer[], date, date, public.geometry, float8[], integer, bigint[], integer, text) is
  'Sightings in a box by species, days, boundary and kind, in the order of a page';
