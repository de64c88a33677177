-- How a boundary changes. What follows from the new one is computed first, as a draft; then the draft becomes valid in a moment.
-- Every way of changing a boundary ends here, by the triggers on portal.mandant. The boundary job computes the drafts before it
-- locks the catalogue, so that writers wait for the second part only; whoever writes a boundary by SQL waits for both.

-- What speaks against a boundary, wherever it comes from.
--   alt, neu   EPSG:25832; alt null: there is none yet; neu null: it stays
--   erzwungen  it may differ from the old one as it likes
-- returns      mangel: lage not inside the service area, vertauscht the same, but with latitude and longitude swapped it would be;
--              klein under 100 km²; and unless it is forced, flaeche its area changes by more than 5 %, ort it overlaps less than
--              half of the old one. wert: the number that is too small or too large, in km² or %
create or replace function private.list_grenze_mangel(alt public.geometry, neu public.geometry, erzwungen boolean)
  returns table (mangel text, wert float8)
  language plpgsql
  stable
as $$
declare
  v_area constant float8 := public.st_area(neu);
  v_old_area constant float8 := public.st_area(alt);
  v_common float8;
begin
  if neu is null then
    return;
  end if;
  if not private.is_in_service_area(neu) then
    mangel := case when private.is_in_service_area(private.flip_degrees(neu)) then 'vertauscht' else 'lage' end;
    return next;
  end if;
  if v_area < 1e8 then
    mangel := 'klein';
    wert := v_area / 1e6;
    return next;
  end if;
  if alt is null or erzwungen then
    return;
  end if;
  if abs(v_area / v_old_area - 1) > 0.05 then
    mangel := 'flaeche';
    wert := 100 * (v_area / v_old_area - 1);
    return next;
  end if;
  v_common := public.st_area(public.st_intersection(alt, neu, 0.001));
  if v_common < 0.5 * v_old_area then
    mangel := 'ort';
    wert := 100 * v_common / v_old_area;
    return next;
  end if;
end
$$;

-- Whether the whole of a boundary lies in the service area. Null for null.
create or replace function private.is_in_service_area(boundary public.geometry)
  returns boolean
  language sql
  stable
as $$
  select public.st_coveredby(
    public.st_envelope(boundary), public.st_makeenvelope(i.x_min, i.y_min, i.x_max, i.y_max, 25832))
  from portal.installation i
$$;

-- Whether two boundaries enclose the same but for a tenth.
--   a, b  EPSG:25832
create or replace function private.is_same_area(a public.geometry, b public.geometry)
  returns boolean
  language sql
  stable
as $$
  select a operator(public.&&) b
    and least(public.st_area(a), public.st_area(b)) > 0.9 * greatest(public.st_area(a), public.st_area(b))
    and public.st_area(public.st_intersection(a, b, 0.001)) > 0.9 * greatest(public.st_area(a), public.st_area(b))
$$;

-- Computes a draft: parts, cells, and the records between the old and the new boundary.
--   mandant_id    a tenant in portal.mandant_entwurf
--   protokoll_id  an entry of the change log, of a moment at which nobody was writing: records that were written later are not
--                 looked for here, private.set_mandant_grenze takes them all
create or replace function private.set_mandant_entwurf(mandant_id integer, protokoll_id bigint)
  returns void
  language plpgsql
  volatile
  -- Compiling the statements takes longer than they do.
  set jit = off
as $$
declare
  v_entwurf portal.mandant_entwurf;
begin
  select e.* into strict v_entwurf from portal.mandant_entwurf e where e.mandant_id = set_mandant_entwurf.mandant_id;

  delete from portal.mandant_entwurf_teil t where t.mandant_id = v_entwurf.mandant_id;
  delete from portal.mandant_entwurf_zelle z where z.mandant_id = v_entwurf.mandant_id;

  -- 128 vertices a part: small enough to test fast, large enough to keep the parts of a state in the hundreds.
  insert into portal.mandant_entwurf_teil (mandant_id, teil)
  select v_entwurf.mandant_id, d.geom
  from public.st_subdivide(v_entwurf.boundary, 128) s (geom),
    public.st_dump(s.geom) d
  where public.st_dimension(d.geom) = 2;
  if abs((
    select sum(public.st_area(t.teil)) from portal.mandant_entwurf_teil t where t.mandant_id = v_entwurf.mandant_id
  ) / public.st_area(v_entwurf.boundary) - 1) < 1e-6 is not true then
    raise exception 'the parts of tenant % do not add up to its boundary', v_entwurf.mandant_id;
  end if;

  insert into portal.mandant_entwurf_zelle (mandant_id, cell_x, cell_y, ganz)
  with candidate as (
    -- the cells in each part's own box, not in the box of the whole state
    select distinct z.cell_x, z.cell_y
    from portal.mandant_entwurf_teil t, private.list_cell_of_box(t.teil) z
    where t.mandant_id = v_entwurf.mandant_id and public.st_intersects(t.teil, private.to_cell_polygon(z.cell_x, z.cell_y))
  ),
  crossed as (
    select distinct z.cell_x, z.cell_y
    from public.st_subdivide(public.st_boundary(v_entwurf.boundary), 128) l (geom), private.list_cell_of_box(l.geom) z
    where public.st_intersects(l.geom, private.to_cell_polygon(z.cell_x, z.cell_y))
  )
  select v_entwurf.mandant_id, c.cell_x, c.cell_y, k.cell_x is null
  from candidate c
  left join crossed k using (cell_x, cell_y);

  -- A metre around the difference, because its corners are rounded: what is listed in vain is only looked at again.
  update portal.mandant_entwurf e
  set protokoll_id = set_mandant_entwurf.protokoll_id, sichtbeobachtung_id = array(
    select distinct s.id
    from public.st_subdivide(public.st_collectionextract(public.st_symdifference(e.alt, e.boundary, 0.001), 3), 128) d (geom),
      private.list_cell_of_box(d.geom) z
    join portal.sichtbeobachtung s using (cell_x, cell_y)
    where public.st_dwithin(s.point, d.geom, 1))
  where e.mandant_id = v_entwurf.mandant_id;
end
$$;

-- Makes the drafts of tenants valid: their parts and cells, and the tenants and protection of the sightings concerned. For all
-- tenants of a statement at once: between two of them the cells of the other would still be the old ones. Called by trigger
-- functions, which hold the catalogue lock alone; drafts that are not computed yet are.
--   mandant_id  tenants with a draft
create or replace function private.set_mandant_grenze(mandant_id integer[])
  returns void
  language plpgsql
  volatile
  set jit = off
as $$
#variable_conflict use_column
declare
  v_protokoll bigint := coalesce((select max(p.id) from portal.protokoll p), 0);
  v_protected bigint[];
  v_placed bigint[];
begin
  perform private.set_mandant_entwurf(e.mandant_id, v_protokoll)
  from portal.mandant_entwurf e
  where e.mandant_id = any (set_mandant_grenze.mandant_id) and e.protokoll_id is null;

  -- What protects a record is told by its cell, so it is every protected record of a cell that a tenant reaches or leaves.
  v_protected := array(
    select distinct s.id
    from (select z.* from portal.mandant_zelle z where z.mandant_id = any (set_mandant_grenze.mandant_id)) z
    full join (select e.* from portal.mandant_entwurf_zelle e where e.mandant_id = any (set_mandant_grenze.mandant_id)) e
      using (cell_x, cell_y, mandant_id)
    join portal.sichtbeobachtung s using (cell_x, cell_y)
    where (z.ganz is null or e.ganz is null) and s.schutz > 0);
  v_placed := array(
    select pg_catalog.unnest(v_protected)
    union
    select pg_catalog.unnest(e.sichtbeobachtung_id)
    from portal.mandant_entwurf e
    where e.mandant_id = any (set_mandant_grenze.mandant_id)
    union
    select p.sichtbeobachtung_id
    from portal.protokoll p
    where p.id > (
      select min(e.protokoll_id) from portal.mandant_entwurf e where e.mandant_id = any (set_mandant_grenze.mandant_id)));

  delete from portal.mandant_teil t where t.mandant_id = any (set_mandant_grenze.mandant_id);
  insert into portal.mandant_teil (mandant_id, teil)
  select t.mandant_id, t.teil from portal.mandant_entwurf_teil t where t.mandant_id = any (set_mandant_grenze.mandant_id);
  delete from portal.mandant_zelle z
  where z.mandant_id = any (set_mandant_grenze.mandant_id)
    and not exists (
      select from portal.mandant_entwurf_zelle e
      where (e.mandant_id, e.cell_x, e.cell_y) = (z.mandant_id, z.cell_x, z.cell_y));
  insert into portal.mandant_zelle as z (cell_x, cell_y, mandant_id, ganz)
  select e.cell_x, e.cell_y, e.mandant_id, e.ganz
  from portal.mandant_entwurf_zelle e
  where e.mandant_id = any (set_mandant_grenze.mandant_id)
  on conflict (cell_x, cell_y, mandant_id) do update
    set ganz = excluded.ganz
    where z.ganz <> excluded.ganz;
  delete from portal.mandant_entwurf e where e.mandant_id = any (set_mandant_grenze.mandant_id);

  perform private.set_sichtbeobachtung_schutz(v_protected, v_placed);
end
$$;
