-- What is derived from a record at every write, whoever writes it.

-- The change log has an entry for every deletion; TRUNCATE tells no trigger which rows it removes.
create or replace function private.sichtbeobachtung_before_truncate()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  raise exception 'sightings are removed with DELETE, so that the change log knows' using errcode = 'LEERN';
end
$$;

-- Derives a record's columns from what was written. For every writer, SQL included, but the import, which derives them of many rows at once
-- (api.create_sichtbeobachtung_of_import); what a writer puts into a derived column is overwritten.
-- errors  DATUM date before 1800 or in the future (Europe/Berlin); GBIET outside the service area; ARTUN no such species
create or replace function private.sichtbeobachtung_before_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- A writer's own setting must not round the coordinates in the stored JSON.
  set extra_float_digits = 1
as $$
declare
  v_installation portal.installation;
  v_x float8 := public.st_x(new.point);
  v_y float8 := public.st_y(new.point);
begin
  select i.* into strict v_installation from portal.installation i;

  if tg_op = 'INSERT' then
    -- One that came with a record of another portal stays.
    new.guid := coalesce(new.guid, public.uuid_generate_v5(v_installation.guid_namespace, new.id::text));
  else
    new.id := old.id;
    new.guid := old.guid;
    -- D3.2: what is published is reviewed anew, unless the writer releases it in the same stroke.
    if old.bereich = 'privat' and new.bereich = 'oeffentlich' and new.status <> 'freigegeben' then
      new.status := 'pruefung';
    end if;
  end if;

  if tg_op = 'INSERT' or new.datum <> old.datum then
    if new.datum < date '1800-01-01' or new.datum > (pg_catalog.now() at time zone 'Europe/Berlin')::date then
      raise exception 'date outside 01.01.1800 to today' using errcode = 'DATUM', column = 'datum';
    end if;
  end if;
  if tg_op = 'INSERT' or not public.st_orderingequals(new.point, old.point) then
    if not coalesce(
      v_x between v_installation.x_min and v_installation.x_max
      and v_y between v_installation.y_min and v_installation.y_max, false) then
      raise exception 'outside the service area' using errcode = 'GBIET', column = 'lat';
    end if;
  end if;

  new.cell_x := private.to_cell(v_x);
  new.cell_y := private.to_cell(v_y);
  new.raster_point := private.to_raster_point(new.cell_x, new.cell_y);
  select a.gid into new.gid from portal.art a where a.id = new.art;
  if new.gid is null then
    raise exception 'no such species' using errcode = 'ARTUN', column = 'art';
  end if;
  -- The first question of get_schutz, asked here too: a call costs 4 of the 14 µs that this trigger took a row.
  perform from portal.art_mandant am where am.art = new.art and am.sensibel limit 1;
  if found then
    select k.sensible_art, k.schutz into strict new.sensible_art, new.schutz
    from private.get_schutz(new.sensibel, new.art, new.cell_x, new.cell_y) k;
  else
    new.sensible_art := false;
    new.schutz := private.to_eigener_schutz(new.sensibel);
  end if;
  new.shown_point := private.to_shown_point(new.schutz, new.point, new.raster_point);
  new.kopf_json := case when private.is_shown_to_all(new.bereich, new.status)
    then private.to_kopf_json(new.id, new.guid, new.anzahl, new.point, new.datum) end;
  return new;
end
$$;
