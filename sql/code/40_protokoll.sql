-- The change log (D3.14). Written by these trigger functions only; it carries no content.

create or replace function private.protokoll_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'CREATE', n.id from new_row n order by n.id;
  return null;
end
$$;

create or replace function private.protokoll_after_delete()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'DELETE', o.id from old_row o order by o.id;
  return null;
end
$$;

-- One entry per updated record. The service itself re-derives columns when the catalogue or a boundary changes; that
-- counts only when it moves the place that somebody is shown, which is what a change of `schutz` says.
create or replace function private.protokoll_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'UPDATE', n.id
  from new_row n
  join old_row o using (id)
  where n.schutz <> o.schutz
    or (n.sensible_art, n.gid) = (o.sensible_art, o.gid)
    or private.to_content(n) <> private.to_content(o)
  order by n.id;
  return null;
end
$$;

-- What a person wrote or decided about a record, without what the service derives from it.
create or replace function private.to_content(sichtbeobachtung portal.sichtbeobachtung)
  returns jsonb
  language sql
  stable
as $$
  select pg_catalog.to_jsonb(sichtbeobachtung) - '{gid,jahr,cell_x,cell_y,raster_point,shown_point,sensible_art,schutz}'::text[]
$$;
