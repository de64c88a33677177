-- Automatic release (O6.14): off unless a rule of experts says so of a species. A run has a number, by which all of it is taken back.

-- Whether a waiting record is released without a person: a rule of each of its tenants says so and asks for no second person, nobody
-- protects it, it has a photo, nothing but what is easily confused speaks against it, its recorder had enough of the group released, and no run has
-- released it before.
create or replace function private.is_automatisch(id bigint)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return exists (
    select
    from portal.pruefgrund p
    join portal.sichtbeobachtung s on s.id = p.sichtbeobachtung_id
    where p.sichtbeobachtung_id = is_automatisch.id
      and s.bereich = 'oeffentlich' and s.status = 'pruefung' and s.schutz = 0
      and p.mit_foto and p.codes <@ '{verwechslung}'
      and cardinality(p.mandanten) > 0
      and not exists (
        select
        from unnest(p.mandanten) m (id)
        where not exists (
          select from private.list_pruefregel(s.art, array[m.id]) r where r.automatisch and not r.zwei_personen))
      and private.get_erfahrung(s.nutzer_id, s.gid) = 20
      and not exists (select from portal.qs q where q.sichtbeobachtung_id = s.id and q.lauf is not null));
end
$$;

-- Sets the status of records in the name of a run, which the QS log names.
--   ids  records that this transaction has locked
create or replace function private.set_status_of_lauf(ids bigint[], lauf integer, status portal.status)
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_variable
begin
  perform set_config('portal.lauf', lauf::text, true);
  update portal.sichtbeobachtung s set status = set_status_of_lauf.status, experte_id = null where s.id = any (ids);
  perform set_config('portal.lauf', '', true);
end
$$;

-- A part of a run.
--   lauf       its number; null: it begins, and has one as soon as there is something to release
-- returns      nummer of the run, null where there was nothing; anzahl: how many were released
create or replace function api.release_automatisch(lauf integer, row_limit integer)
  returns table (nummer integer, anzahl integer)
  language plpgsql
  volatile
as $$
#variable_conflict use_variable
declare
  v_lauf integer := lauf;
  v_ids bigint[];
begin
  perform private.require_catalogue_lock(exclusive => false);
  -- Most are left out before the dear question is asked.
  v_ids := array(
    select p.sichtbeobachtung_id
    from portal.pruefgrund p
    where p.mit_foto and p.codes <@ '{verwechslung}'
      and exists (select from portal.pruefregel r where r.art = p.art and r.automatisch)
      and private.is_automatisch(p.sichtbeobachtung_id)
    order by p.sichtbeobachtung_id
    limit row_limit);
  perform from portal.sichtbeobachtung s where s.id = any (v_ids) order by s.id for no key update;
  -- What was decided meanwhile is not decided again.
  v_ids := array(select i from unnest(v_ids) i where private.is_automatisch(i));
  if v_ids <> '{}' then
    if v_lauf is null then
      insert into portal.pruef_lauf (anzahl) values (0) returning id into v_lauf;
    end if;
    perform private.set_status_of_lauf(v_ids, v_lauf, 'freigegeben');
    update portal.pruef_lauf l set anzahl = l.anzahl + cardinality(v_ids) where l.id = v_lauf;
  end if;
  return query select v_lauf, cardinality(v_ids);
end
$$;
comment on function api.release_automatisch(integer, integer) is
  'Releases waiting records that a rule of experts releases without a person; returns the number of the run, and how many';

-- Takes back a part of what a run released, as far as nobody has decided on it since.
-- returns  how many; 0: nothing is left
-- errors   NFUND no such run
create or replace function api.undo_pruef_lauf(lauf integer, row_limit integer)
  returns integer
  language plpgsql
  volatile
as $$
#variable_conflict use_variable
declare
  v_ids bigint[];
begin
  perform private.require_catalogue_lock(exclusive => false);
  update portal.pruef_lauf l set zurueckgenommen = now() where l.id = lauf;
  if not found then
    raise exception 'no such run' using errcode = 'NFUND';
  end if;
  v_ids := array(
    select s.id
    from portal.sichtbeobachtung s
    where s.id in (select q.sichtbeobachtung_id from portal.qs q where q.lauf = lauf and q.status = 'freigegeben')
      and s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.experte_id is null
    order by s.id
    limit row_limit
    for no key update);
  perform private.set_status_of_lauf(v_ids, lauf, 'pruefung');
  return cardinality(v_ids);
end
$$;
comment on function api.undo_pruef_lauf(integer, integer) is 'Puts back into review what a run released by itself, part by part';

-- Runs that released something, the newest first.
create or replace function api.list_pruef_lauf()
  returns table (id integer, zeitpunkt timestamptz, anzahl integer, zurueckgenommen timestamptz)
  language sql
  stable
as $$
  select l.id, l.zeitpunkt, l.anzahl, l.zurueckgenommen from portal.pruef_lauf l order by l.id desc limit 100
$$;
comment on function api.list_pruef_lauf() is 'Runs of automatic release, the newest first';
