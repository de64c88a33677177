-- Pages of lists.

-- One page from the records that were read for it, one more than it holds: that one tells whether there is a further page.
--   id         of the records, in the order of the answer
--   row_json   the same records as JSON
--   row_limit  records of a page
-- returns      result: JSON array as text; last_id: the id to go on after, null on the last page
create or replace function private.to_page(id bigint[], row_json text[], row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  immutable
  rows 1
as $$
begin
  result := '[' || array_to_string(row_json[:row_limit], ',') || ']';
  if cardinality(id) > row_limit then
    last_id := id[row_limit];
  end if;
  return next;
end
$$;
