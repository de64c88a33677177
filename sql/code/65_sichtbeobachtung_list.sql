-- Which sightings a list shows. Chooses ids only; private.render_sichtbeobachtung shows them.
--
-- The frequent combinations have a static statement each, whose plan is kept (0.5 ms a page). One statement for all of
-- them, with `(p is null or column = p)`, took 2 185 ms for one species at 10 million sightings; everything else is put
-- together from the filters that are present.

-- The newest released records that everyone is shown inside a box.
-- The index on (shown_point, datum, id) delivers them by id: ordering by the distance of id to a number above it is
-- ordering by id. `order by id desc` made the planner sort whole boxes (503 ms for 100 km at 10 million against 1.9).
--   arts_here   the species that the addressed tenant protects
--   x1 … y2     the box, EPSG:25832 (metres), edges included
--   before_id   at most 2^53 - 1: distances are float8, and beyond that they are no longer exact
create or replace function private.list_sichtbeobachtung_id_in_box(
  arts_here integer[], gids integer[], x1 float8, y1 float8, x2 float8, y2 float8,
  datum_von date, datum_bis date, before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
  -- Without these the planner prefers to fetch the whole box and to sort it.
  set enable_sort = off
  set enable_bitmapscan = off
as $$
declare
  v_box public.geometry := st_makeenvelope(x1, y1, x2, y2, 25832);
  v_von date := coalesce(datum_von, '-infinity');
  v_bis date := coalesce(datum_bis, 'infinity');
  v_shown bigint[];
  v_cell bigint[] := '{}';
begin
  -- && compares boxes of 32-bit floats and takes in what lies 0.3 m outside: hence the comparison of the coordinates.
  v_shown := array(
    select s.id
    from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben'
      and s.shown_point && v_box
      and st_x(s.shown_point) between x1 and x2 and st_y(s.shown_point) between y1 and y2
      and s.datum between v_von and v_bis
      and (gids is null or s.gid = any (gids))
      and not (s.schutz = 1 and s.art = any (arts_here))
      and s.id < before_id
    order by s.id <-> before_id
    limit row_limit);
  -- What only the addressed tenant protects is found by its cell's centre.
  if cardinality(arts_here) > 0 then
    v_cell := array(
      select s.id
      from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.schutz = 1
        and s.raster_point && v_box
        and st_x(s.raster_point) between x1 and x2 and st_y(s.raster_point) between y1 and y2
        and s.datum between v_von and v_bis
        and (gids is null or s.gid = any (gids))
        and s.art = any (arts_here)
        and s.id < before_id
      order by s.id <-> before_id
      limit row_limit);
  end if;
  if cardinality(v_cell) = 0 then
    return v_shown;
  end if;
  return array(select b.id from unnest(v_shown || v_cell) b (id) order by b.id desc limit row_limit);
end
$$;

-- The ids of one page, descending.
--   arts, gids  null = any; empty = none
--   mandant     id of a tenant
--   bbox        left, bottom, right, top in EPSG:25832 (metres)
--   before_id   at most 2^53 - 1
create or replace function private.list_sichtbeobachtung_id(
  tenant integer, reader bigint, bereich text, status portal.status, arts integer[], gids integer[], jahr integer,
  datum_von date, datum_bis date, mandant integer, bbox float8[], before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_exempt boolean := private.is_exempt(reader);
  v_own boolean := bereich <> 'oeffentlich';
  v_dated boolean := datum_von is not null or datum_bis is not null;
  v_von date := coalesce(datum_von, '-infinity');
  v_bis date := coalesce(datum_bis, 'infinity');
  -- how many kinds of filters there are beside the reader's view
  v_filters integer := num_nonnulls(arts, gids, list_sichtbeobachtung_id.jahr, mandant, bbox) + v_dated::integer;
  v_arts_here integer[];
  v_few boolean := false;
  v_from text := 'portal.sichtbeobachtung s';
  v_where text;
  v_order text := 's.id desc';
  v_id bigint[];
begin
  if arts = '{}' or gids = '{}' then
    return '{}';
  end if;

  -- 1. own records
  if v_own and v_filters = 0 and list_sichtbeobachtung_id.status is null then
    if list_sichtbeobachtung_id.bereich = 'persoenlich' then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.nutzer_id = reader and s.id < before_id
        order by s.id desc limit row_limit);
    end if;
    return array(
      select s.id from portal.sichtbeobachtung s
      where s.nutzer_id = reader and s.bereich = 'privat' and s.id < before_id
      order by s.id desc limit row_limit);
  end if;

  -- 2. logged in: newest, or one status
  if not v_own and reader is not null and v_filters = 0 then
    if list_sichtbeobachtung_id.status is null then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.id < before_id
        order by s.id desc limit row_limit);
    end if;
    return array(
      select s.id from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status = list_sichtbeobachtung_id.status and s.id < before_id
      order by s.id desc limit row_limit);
  end if;

  -- 3. everyone's view with one filter, or two that belong together
  if reader is null and v_filters = 0 then
    return array(
      select s.id from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.id < before_id
      order by s.id desc limit row_limit);
  elsif reader is null and v_filters = 1 then
    if cardinality(arts) = 1 then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.art = arts[1] and s.id < before_id
        order by s.id desc limit row_limit);
    elsif cardinality(gids) = 1 then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.gid = gids[1] and s.id < before_id
        order by s.id desc limit row_limit);
    elsif list_sichtbeobachtung_id.jahr is not null then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.jahr = list_sichtbeobachtung_id.jahr
          and s.id < before_id
        order by s.id desc limit row_limit);
    end if;
  end if;

  if not v_own and (bbox is not null or mandant is not null) then
    v_arts_here := array(
      select am.art from portal.art_mandant am where am.mandant_id = tenant and am.sensibel);
  end if;

  if reader is null and mandant is not null and v_filters = 1 then
    return array(
      select l.sichtbeobachtung_id
      from portal.sichtbeobachtung_mandant l
      join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id
      where l.mandant_id = mandant and l.sichtbeobachtung_id < before_id
        and s.bereich = 'oeffentlich' and s.status = 'freigegeben'
        and (l.exakt or private.is_masked(s.schutz, s.art = any (v_arts_here), s.nutzer_id, null, false))
      order by l.sichtbeobachtung_id desc limit row_limit);
  elsif reader is null and mandant is not null and cardinality(gids) = 1 and v_filters = 2 then
    return array(
      select l.sichtbeobachtung_id
      from portal.sichtbeobachtung_mandant l
      join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id
      where l.mandant_id = mandant and l.gid = gids[1] and l.sichtbeobachtung_id < before_id
        and s.bereich = 'oeffentlich' and s.status = 'freigegeben'
        and (l.exakt or private.is_masked(s.schutz, s.art = any (v_arts_here), s.nutzer_id, null, false))
      order by l.sichtbeobachtung_id desc limit row_limit);
  end if;

  -- Walking a box by id is slow for a species that hardly occurs in it; a species with few records is read whole.
  if arts is not null and not v_own then
    v_few := (
      select count(*) from (select from portal.sichtbeobachtung s where s.art = any (arts) limit 1000) f) < 1000;
  end if;

  if reader is null and bbox is not null and arts is null and mandant is null and list_sichtbeobachtung_id.jahr is null then
    return private.list_sichtbeobachtung_id_in_box(
      v_arts_here, gids, bbox[1], bbox[2], bbox[3], bbox[4], datum_von, datum_bis, before_id, row_limit);
  elsif reader is null and v_dated and v_filters = 1 then
    return private.list_sichtbeobachtung_id_in_time(v_von, v_bis, before_id, row_limit);
  end if;

  -- 4. everything else, put together from the filters that are present; values are always bound
  v_where := case list_sichtbeobachtung_id.bereich
    when 'persoenlich' then 's.nutzer_id = $1'
    when 'privat' then $s$s.nutzer_id = $1 and s.bereich = 'privat'$s$
    else $s$s.bereich = 'oeffentlich'$s$ end;
  if reader is null then
    v_where := v_where || $s$ and s.status = 'freigegeben'$s$;
  elsif list_sichtbeobachtung_id.status is not null then
    v_where := v_where || ' and s.status = $2';
  end if;
  v_where := v_where || ' and s.id < $3';
  if arts is not null then
    v_where := v_where || case when cardinality(arts) = 1 then ' and s.art = ($5)[1]' else ' and s.art = any ($5)' end;
  end if;
  if gids is not null then
    v_where := v_where || case when cardinality(gids) = 1 then ' and s.gid = ($6)[1]' else ' and s.gid = any ($6)' end;
  end if;
  if list_sichtbeobachtung_id.jahr is not null then
    v_where := v_where || ' and s.jahr = $7';
  end if;
  if v_dated then
    v_where := v_where || ' and s.datum between $8 and $9';
  end if;
  if mandant is not null then
    v_from := v_from || ' join portal.sichtbeobachtung_mandant l on l.sichtbeobachtung_id = s.id';
    v_where := v_where || ' and l.mandant_id = $10 and l.sichtbeobachtung_id < $3 and (l.exakt'
      || case when v_own or v_exempt then ')'
        else ' or private.is_masked(s.schutz, s.art = any ($11), s.nutzer_id, $1, false))' end;
  end if;
  if bbox is not null then
    -- The place that this reader is shown is at most half a cell from the one in the index, whichever of the two
    -- is masked; so the box is widened for the index, and the place itself is compared.
    v_from := v_from || format(
      ' cross join lateral (select case when %s then s.raster_point else s.point end as place) k',
      case when v_own or v_exempt then 'false'
        else 'private.is_masked(s.schutz, s.art = any ($11), s.nutzer_id, $1, false)' end);
    v_where := v_where
      || ' and s.shown_point && st_expand(st_makeenvelope($12, $13, $14, $15, 25832), 2500.5)'
      || ' and st_x(k.place) between $12 and $14 and st_y(k.place) between $13 and $15';
  end if;

  -- Few records are fetched whole and sorted: `+ 0` keeps the planner from walking all ids backwards to find them.
  if v_own or v_few then
    v_order := 's.id + 0 desc';
  end if;

  execute format('select array(select s.id from %s where %s order by %s limit $4)', v_from, v_where, v_order)
  into v_id
  using reader, list_sichtbeobachtung_id.status, before_id, row_limit, arts, gids, list_sichtbeobachtung_id.jahr, v_von, v_bis,
    mandant, v_arts_here, bbox[1], bbox[2], bbox[3], bbox[4];
  return v_id;
end
$$;

-- The newest released records of a range of days. A b-tree walks the wrong end here (1 110 ms at 10 million).
create or replace function private.list_sichtbeobachtung_id_in_time(von date, bis date, before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_bitmapscan = off
as $$
begin
  return array(
    select s.id
    from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.datum between von and bis and s.id < before_id
    order by s.id <-> before_id
    limit row_limit);
end
$$;
