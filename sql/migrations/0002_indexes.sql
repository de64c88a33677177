-- The new ones first: building an index keeps writers waiting, dropping one keeps readers waiting until the end.
CREATE INDEX "sichtbeobachtung_unreleased" ON "portal"."sichtbeobachtung" USING gist ("shown_point","datum","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."status" <> 'freigegeben';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_status_shown" ON "portal"."sichtbeobachtung" USING btree ("status","id","shown_point","datum","art","schutz") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich';--> statement-breakpoint
DROP INDEX "portal"."sichtbeobachtung_shown_unreleased";--> statement-breakpoint
DROP INDEX "portal"."sichtbeobachtung_status";
