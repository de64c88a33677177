-- Which tenants a record lies in: those of its point, and where anybody protects it those of its whole cell.

-- The tenants that a record's row in the link table must name: those of its point, and when anybody protects it those
-- of its whole cell.
create or replace function private.list_mandant_of_sichtbeobachtung(point public.geometry, cell_x integer, cell_y integer, schutz smallint)
  returns table (mandant_id integer, exakt boolean)
  language sql
  stable
  rows 2
as $$
  select k.mandant_id, k.exakt
  from (
    select z.mandant_id,
      z.ganz or exists (
        select from portal.mandant_teil t
        where t.mandant_id = z.mandant_id and public.st_intersects(t.teil, point)) as exakt
    from portal.mandant_zelle z
    where z.cell_x = list_mandant_of_sichtbeobachtung.cell_x and z.cell_y = list_mandant_of_sichtbeobachtung.cell_y
    -- keeps the planner from testing the point once for the column and once for the condition
    offset 0
  ) k
  where k.exakt or schutz > 0
$$;

create or replace function private.sichtbeobachtung_mandant_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_moved bigint[];
  v_frei bigint[];
begin
  if tg_op = 'INSERT' then
    insert into portal.mandant_sichtbeobachtung (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
    select k.mandant_id, n.id, n.gid, k.exakt, private.is_shown_to_all(n.bereich, n.status)
    from new_row n, private.list_mandant_of_sichtbeobachtung(n.point, n.cell_x, n.cell_y, n.schutz) k;
    return null;
  elsif tg_op = 'DELETE' then
    with removed as (
      delete from portal.mandant_sichtbeobachtung l using old_row o where l.sichtbeobachtung_id = o.id
      returning l.sichtbeobachtung_id, l.mandant_id, l.frei
    )
    insert into portal.abgleich_ehemals (sichtbeobachtung_id, mandant_id)
    select r.sichtbeobachtung_id, r.mandant_id from removed r where r.frei
    on conflict do nothing;
    return null;
  end if;
  select pg_catalog.array_agg(k.id) filter (where k.moved), pg_catalog.array_agg(k.id) filter (where not k.moved) into v_moved, v_frei
  from (
    select n.id, private.is_shown_to_all(n.bereich, n.status) <> private.is_shown_to_all(o.bereich, o.status) as frei,
      not public.st_orderingequals(n.point, o.point) or n.gid <> o.gid or (n.schutz > 0) <> (o.schutz > 0) as moved
    from new_row n
    join old_row o using (id)
    offset 0
  ) k
  where k.moved or k.frei;
  if v_moved is not null then
    perform private.set_sichtbeobachtung_mandant(v_moved);
  end if;
  if v_frei is not null then
    perform private.set_mandant_frei(v_frei);
  end if;
  return null;
end
$$;

-- Brings in line with records whether everyone is shown them; their tenants are the same as before. To find those out anew took more than
-- twice as long, for every release.
create or replace function private.set_mandant_frei(id bigint[])
  returns void
  language plpgsql
  volatile
as $$
begin
  with written as (
    update portal.mandant_sichtbeobachtung l
    set frei = private.is_shown_to_all(s.bereich, s.status)
    from portal.sichtbeobachtung s
    where l.sichtbeobachtung_id = any (set_mandant_frei.id) and s.id = l.sichtbeobachtung_id
      and l.frei <> private.is_shown_to_all(s.bereich, s.status)
    returning l.sichtbeobachtung_id, l.mandant_id, l.frei
  )
  -- Their mirrors are told that it is gone.
  insert into portal.abgleich_ehemals (sichtbeobachtung_id, mandant_id)
  select w.sichtbeobachtung_id, w.mandant_id from written w where not w.frei
  on conflict do nothing;
end
$$;

-- Brings the tenants of records in line with boundaries, protection and release; touches only what differs.
--   id       records
-- returns    those of them whose tenants changed, as far as anybody is shown them
create or replace function private.set_sichtbeobachtung_mandant(id bigint[])
  returns bigint[]
  language plpgsql
  volatile
as $$
declare
  v_changed bigint[];
begin
  if pg_catalog.cardinality(id) = 0 then
    return '{}';
  end if;
  with wanted as (
    select k.mandant_id, s.id as sichtbeobachtung_id, s.gid, s.schutz, k.exakt, private.is_shown_to_all(s.bereich, s.status) as frei
    from portal.sichtbeobachtung s, private.list_mandant_of_sichtbeobachtung(s.point, s.cell_x, s.cell_y, s.schutz) k
    where s.id = any (set_sichtbeobachtung_mandant.id)
  ),
  present as (
    select l.mandant_id, l.sichtbeobachtung_id, l.exakt, l.frei
    from portal.mandant_sichtbeobachtung l
    where l.sichtbeobachtung_id = any (set_sichtbeobachtung_mandant.id)
  ),
  removed as (
    delete from portal.mandant_sichtbeobachtung l
    where l.sichtbeobachtung_id = any (set_sichtbeobachtung_mandant.id)
      and not exists (
        select from wanted w where w.mandant_id = l.mandant_id and w.sichtbeobachtung_id = l.sichtbeobachtung_id)
  ),
  written as (
    insert into portal.mandant_sichtbeobachtung as l (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
    select w.mandant_id, w.sichtbeobachtung_id, w.gid, w.exakt, w.frei from wanted w
    on conflict (sichtbeobachtung_id, mandant_id) do update
      set gid = excluded.gid, exakt = excluded.exakt, frei = excluded.frei
      where (l.gid, l.exakt, l.frei) is distinct from (excluded.gid, excluded.exakt, excluded.frei)
  ),
  -- Their mirrors are told that it is gone.
  ended as (
    insert into portal.abgleich_ehemals (sichtbeobachtung_id, mandant_id)
    select p.sichtbeobachtung_id, p.mandant_id
    from present p
    left join wanted w using (mandant_id, sichtbeobachtung_id)
    where p.frei and w.frei is not true
    on conflict do nothing
  )
  -- On which side of a border a protected record lies is part of its place: `exakt` alone counts for the others only.
  select coalesce(array_agg(distinct sichtbeobachtung_id), '{}') into v_changed
  from present p
  full join wanted w using (mandant_id, sichtbeobachtung_id)
  where p.mandant_id is null or w.mandant_id is null or (p.exakt <> w.exakt and w.schutz < 2);
  return v_changed;
end
$$;
