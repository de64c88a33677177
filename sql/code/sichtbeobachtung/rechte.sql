-- Who may see a record, and who may edit, release, review or delete it.

-- What a reader may do to a record, as the record is now.
--   author   edit and publish: the recorder, unless it is released
--   review   status and expert's remark: who is in charge of it, on published records of others
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
    and private.is_zustaendig(private.get_zustaendigkeit(reader, entscheiden => true), sichtbeobachtung.id, sichtbeobachtung.gid);
  delete := author or (v_published and v_administrator);
  return next;
end
$$;

-- Whether a reader may see a record at all.
--   bereich, status, nutzer_id  of the record
--   reader                      who asks, null for anonymous
create or replace function private.is_visible(bereich portal.bereich, status portal.status, nutzer_id bigint, reader bigint)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select coalesce(case when bereich = 'privat' then nutzer_id = reader else status = 'freigegeben' or reader is not null end, false)
$$;
