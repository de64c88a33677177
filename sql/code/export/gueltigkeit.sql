-- When a file to publish shows what must not be shown any more (O5.2). A row that a file may hold was changed or deleted: the tenant's files
-- are wrong from the commit of that change on, until new ones are whole. New rows make no file wrong.

-- Makes the files of tenants wrong.
--   mandant_id  tenants; those without a licence have no files
create or replace function private.set_export_ungueltig(mandant_id integer[])
  returns void
  language sql
  volatile
as $$
  -- Always a row of its own: nobody waits for it, and one that is there may be deleted by a run that does not know this change.
  insert into portal.export_ungueltig (mandant_id)
  select m.id
  from portal.mandant m
  where m.id = any (set_export_ungueltig.mandant_id) and m.lizenz is not null
$$;

-- The same for the tenants that these cells touch: what was shown in a cell is in no other tenant's files.
--   cell_x, cell_y  pairwise
create or replace function private.set_export_ungueltig_of_zelle(cell_x integer[], cell_y integer[])
  returns void
  language plpgsql
  volatile
as $$
begin
  -- Without a licence nothing is published, and nothing is looked for.
  if exists (select from portal.mandant m where m.lizenz is not null) then
    perform private.set_export_ungueltig(array(
      select distinct z.mandant_id
      from rows from (pg_catalog.unnest(cell_x), pg_catalog.unnest(cell_y)) u (x, y)
      join portal.mandant_zelle z on z.cell_x = u.x and z.cell_y = u.y));
  end if;
end
$$;
