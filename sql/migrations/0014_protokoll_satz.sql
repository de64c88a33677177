-- The new one first: everybody who asks for the entries of one record has an index meanwhile.
CREATE INDEX "protokoll_satz" ON "portal"."protokoll" USING btree ("sichtbeobachtung_id","id");--> statement-breakpoint
DROP INDEX "portal"."protokoll_sichtbeobachtung";
