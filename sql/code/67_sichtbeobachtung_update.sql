-- Editing, publishing, reviewing and deleting (api-v2 States and transitions, D3). The record is locked before rights are
-- looked at, so that an author's edit and an expert's release can't cross.

-- What a reader may do to a record, as the record is now.
--   author   edit and publish: the owner, unless it is released
--   review   status and expert's remark: experts within their groups and administrators, on published records of others
--   delete   the author, and administrators on any published record
create or replace function private.get_recht(sichtbeobachtung portal.sichtbeobachtung, reader bigint)
  returns table (author boolean, review boolean, delete boolean)
  language plpgsql
  stable
  rows 1
as $$
declare
  v_administrator boolean := private.has_rolle(reader, 'administrator');
  v_published boolean := sichtbeobachtung.bereich = 'oeffentlich';
begin
  author := sichtbeobachtung.nutzer_id = reader and sichtbeobachtung.status <> 'freigegeben';
  -- Nobody releases their own record (D3.3).
  review := v_published and sichtbeobachtung.nutzer_id <> reader
    and (v_administrator or private.has_rolle(reader, 'expert') and private.is_expert_for(reader, sichtbeobachtung.gid));
  delete := author or (v_published and v_administrator);
  return next;
end
$$;

-- Changes a sighting: the author's edit or publication, or the expert's review.
--   tenant    the addressed tenant, which must define a species that is set anew
--   reader    who asks
--   fields    JSON object of the fields that were sent, as of api.create_sichtbeobachtung, and status; a field that is not in it stays as
--             it is, null clears bemerkung, stadium_id, aktivitaet_id and the files; lat, lon and srid together or not at all
-- returns     names of files that the record no longer has
-- errors      NFUND unknown id; NRCHT not permitted, nothing is changed (D2.5, D3.5); ARTUN, STDUN, AKTUN, WERTB, GBTAU,
--             GBIET, DATUM; DOPPL the change would make it equal to another record (detail = its id)
create or replace function api.update_sichtbeobachtung(tenant integer, reader bigint, id bigint, fields portal.felder)
  returns text[]
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_sent text[] := array(select jsonb_object_keys(fields));
  v_record portal.sichtbeobachtung;
  v_new portal.sichtbeobachtung;
  v_author boolean;
  v_review boolean;
  v_existing bigint;
begin
  perform private.require_feld(fields,
    '{art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,status,foto,foto_2,foto_3,biotopfoto,audio}');
  -- Before the row, in the order of everyone who takes both.
  perform private.require_catalogue_lock(exclusive => false);
  select s.* into v_record from portal.sichtbeobachtung s where s.id = update_sichtbeobachtung.id for no key update;
  if not found then
    raise exception 'no such sighting' using errcode = 'NFUND';
  end if;
  select r.author, r.review into strict v_author, v_review from private.get_recht(v_record, reader) r;
  -- What was sent, and the rest as it is.
  v_new := jsonb_populate_record(v_record, fields);

  if v_review then
    if not v_sent <@ '{status,bemerkung}' then
      raise exception 'experts change status and remark only' using errcode = 'NRCHT';
    end if;
    update portal.sichtbeobachtung s
    set status = v_new.status,
      -- Deciding the same again leaves the one who decided: the QS log names nobody else.
      experte_id = case when v_new.status = s.status then s.experte_id
        when v_new.status in ('freigegeben', 'abgelehnt') then reader end,
      bemerkung_experte = case when fields ? 'bemerkung' then v_new.bemerkung else s.bemerkung_experte end
    where s.id = v_record.id;
    return '{}';
  end if;

  if not v_author or fields ? 'status' or (v_record.bereich = 'oeffentlich' and not v_sent <@ '{bereich}') then
    raise exception 'not permitted' using errcode = 'NRCHT';
  end if;

  perform private.require_reference(
    tenant,
    case when fields ? 'art' then v_new.art end,
    case when fields ? 'stadium_id' then v_new.stadium_id end,
    case when fields ? 'aktivitaet_id' then v_new.aktivitaet_id end);
  if fields ? 'lat' then
    v_new.point := private.to_point_of_felder(fields);
  end if;
  v_new.datum := coalesce(v_new.datum, (now() at time zone 'Europe/Berlin')::date);
  begin
    update portal.sichtbeobachtung s
    set art = v_new.art, point = v_new.point, datum = v_new.datum, anzahl = v_new.anzahl, sensibel = v_new.sensibel,
      bereich = v_new.bereich, bemerkung = v_new.bemerkung, stadium_id = v_new.stadium_id, aktivitaet_id = v_new.aktivitaet_id,
      foto = v_new.foto, foto_2 = v_new.foto_2, foto_3 = v_new.foto_3, biotopfoto = v_new.biotopfoto, audio = v_new.audio
    where s.id = v_record.id;
  exception when unique_violation then
    v_existing := private.get_doppelt(v_new.nutzer_id, v_new.art, v_new.datum, v_new.point);
    if v_existing is null then
      raise exception 'deleted meanwhile, try again' using errcode = '40001';
    end if;
    raise exception 'stored already' using errcode = 'DOPPL', detail = v_existing;
  end;
  return private.list_medium_removed(v_record, (select s from portal.sichtbeobachtung s where s.id = v_record.id));
end
$$;
comment on function api.update_sichtbeobachtung(integer, bigint, bigint, portal.felder) is
  'Changes the fields of a sighting that were sent as its author, or reviews it as expert or administrator; returns files it no longer has';

-- returns  names of the files that it had
-- errors   NFUND unknown id; NRCHT not permitted
create or replace function api.delete_sichtbeobachtung(reader bigint, id bigint)
  returns text[]
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_record portal.sichtbeobachtung;
begin
  perform private.require_catalogue_lock(exclusive => false);
  select s.* into v_record from portal.sichtbeobachtung s where s.id = delete_sichtbeobachtung.id for update;
  if not found then
    raise exception 'no such sighting' using errcode = 'NFUND';
  end if;
  if not (select r.delete from private.get_recht(v_record, reader) r) then
    raise exception 'not permitted' using errcode = 'NRCHT';
  end if;
  delete from portal.sichtbeobachtung s where s.id = v_record.id;
  return private.list_medium_removed(v_record, null);
end
$$;
comment on function api.delete_sichtbeobachtung(bigint, bigint) is
  'Deletes a sighting as its author, unless it is released, or as administrator when it is published; returns the files it had';
