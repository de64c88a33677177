-- The layer of a tile that shows records (O3.1, O3.3).

-- Records that are not masked, from z 10. A tile that would have more points than small squares shows one for each of those, that with
-- the lowest id; of all records, where it is known from the kept counts that there are more, the lowest ids of each cell. So the densest
-- thin out, the same ones every time, and only by what everybody is shown.
--   teilung   squares along each side, 128 and less
create or replace function ausgabe.list_tile_sichtbeobachtung(
    z integer, x integer, y integer, art integer, artengruppe_id integer, jahr_von integer, jahr_bis integer, teilung integer)
  returns table (fid bigint, id bigint, geom public.geometry)
  language plpgsql
  stable
as $$
declare
  v_tile public.geometry := public.st_tileenvelope(z, x, y);
  v_left constant float8 := public.st_xmin(v_tile);
  v_top constant float8 := public.st_ymax(v_tile);
  v_scale constant float8 := 4096 / (public.st_xmax(v_tile) - v_left);
  -- 8 of 256 pixels: whoever draws tile by tile draws whole what lies beside an edge (O3.4).
  v_margin constant float8 := 128;
  v_box public.geometry := ausgabe.to_tile_box(z, x, y, v_margin / 4096);
  v_of_cell bigint := ausgabe.get_tile_dichte(z, v_box, art, artengruppe_id, jahr_von, jahr_bis, teilung);
begin
  if list_tile_sichtbeobachtung.z < 10 or v_box is null then
    return;
  end if;
  return query
  select k.id, k.id, public.st_makepoint(round(k.i), round(k.j))
  from (
    select s.id, (public.st_x(p.p) - v_left) * v_scale as i, (v_top - public.st_y(p.p)) * v_scale as j
    from (
      select d.id, d.place
      from ausgabe.list_tile_place(v_box, list_tile_sichtbeobachtung.art, artengruppe_id, list_tile_sichtbeobachtung.jahr_von,
        list_tile_sichtbeobachtung.jahr_bis, teilung) d
      where v_of_cell is null
      union all
      select d.id, d.place from ausgabe.list_tile_place_of_cell(v_box, v_of_cell) d where v_of_cell is not null
    ) s
    cross join lateral (select public.st_transform(s.place, 3857) as p offset 0) p
    offset 0) k
  where k.i >= -v_margin and k.i < 4096 + v_margin and k.j >= -v_margin and k.j < 4096 + v_margin
  order by k.id;
end
$$;
comment on function ausgabe.list_tile_sichtbeobachtung(integer, integer, integer, integer, integer, integer, integer, integer) is
  'Layer sichtbeobachtung of a tile: records that are not masked, from z 10, the densest thinned out';

-- How many records of each cell a tile shows at most, where all of them would be too many: a quarter of its small squares, because these
-- tiles are wide and asked for most. Null where the records may be looked at, and for tiles of few cells, which hold much that lies beside.
create or replace function ausgabe.get_tile_dichte(
    z integer, box public.geometry, art integer, artengruppe_id integer, jahr_von integer, jahr_bis integer, teilung integer)
  returns bigint
  language plpgsql
  stable
as $$
begin
  if box is null or get_tile_dichte.z not between 10 and 12
    or coalesce(get_tile_dichte.art, artengruppe_id, get_tile_dichte.jahr_von, get_tile_dichte.jahr_bis) is not null then
    return null;
  end if;
  return (
    select case when sum(c.meldungen - c.verschleiert) > teilung * teilung / 4 then teilung * teilung / 4 / count(*) + 1 end
    from ausgabe.list_raster_karte(0, box) c
    where c.meldungen > c.verschleiert);
end
$$;
comment on function ausgabe.get_tile_dichte(integer, public.geometry, integer, integer, integer, integer, integer) is
  'How many records of each cell a crowded tile shows at most; null where they are few';

-- The records with the lowest ids of each cell that a box touches, and no more.
create or replace function ausgabe.list_tile_place_of_cell(box public.geometry, of_cell bigint)
  returns table (id bigint, place public.geometry)
  language plpgsql
  stable
as $$
begin
  return query
  select s.id, s.place
  from ausgabe.list_raster_karte(0, box) c
  cross join lateral (
    select g.id, g.place
    from gis.sichtbeobachtung_raster g
    where g.cell_x = c.x and g.cell_y = c.y and g.unschaerfe_m = 0
    order by g.cell_x, g.cell_y, g.id
    limit of_cell) s
  where s.place operator(public.&&) box;
end
$$;
comment on function ausgabe.list_tile_place_of_cell(public.geometry, bigint) is
  'Records of the cells that a box touches, those with the lowest numbers of each';

-- The records in a box; where they are more than small squares, that with the lowest id of each of those.
create or replace function ausgabe.list_tile_place(
    box public.geometry, art integer, artengruppe_id integer, jahr_von integer, jahr_bis integer, teilung integer)
  returns table (id bigint, place public.geometry)
  language plpgsql
  stable
  -- With the usual 4 MB, the index names pages instead of rows: of a city's 360 000 records that took twice as long.
  set work_mem = '32MB'
as $$
declare
  v_west float8 := public.st_xmin(box);
  v_south float8 := public.st_ymin(box);
  v_side float8 := (public.st_xmax(box) - v_west) / teilung;
begin
  return query
  with found as materialized (
    select s.id, s.place
    from gis.sichtbeobachtung s
    where s.place operator(public.&&) box and s.unschaerfe_m = 0
      and (list_tile_place.art is null or s.art = list_tile_place.art)
      -- Hashed: looked up for each record it took as long as all the rest.
      and (artengruppe_id is null or s.art in (select a.id from gis.art a where a.gid = artengruppe_id))
      and (list_tile_place.jahr_von is null or s.jahr >= list_tile_place.jahr_von)
      and (list_tile_place.jahr_bis is null or s.jahr <= list_tile_place.jahr_bis)
  ),
  crowd as (select count(*) > teilung * teilung as is_crowded from found)
  select f.id, f.place from found f where not (select c.is_crowded from crowd c)
  union all
  -- Hashed and not joined with the lowest: of how many there are, the planner knows nothing.
  select f.id, f.place
  from found f
  where (select c.is_crowded from crowd c)
    and (f.id in (
      select min(l.id)
      from found l
      group by trunc((public.st_x(l.place) - v_west) / v_side), trunc((public.st_y(l.place) - v_south) / v_side))) is true;
end
$$;
comment on function ausgabe.list_tile_place(public.geometry, integer, integer, integer, integer, integer) is
  'Records in a box that are not masked, thinned out where they are too many';
