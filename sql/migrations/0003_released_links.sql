-- A new table in place of a new column: readers go on until it is filled and takes the old one's name; writers wait.
LOCK TABLE "portal"."mandant", "portal"."sichtbeobachtung", "portal"."sichtbeobachtung_mandant" IN SHARE ROW EXCLUSIVE MODE;--> statement-breakpoint
CREATE TABLE "portal"."sichtbeobachtung_mandant_neu" AS
SELECT l."mandant_id", l."sichtbeobachtung_id", l."gid", l."exakt", s."bereich" = 'oeffentlich' AND s."status" = 'freigegeben' AS "frei"
FROM "portal"."sichtbeobachtung_mandant" l
JOIN "portal"."sichtbeobachtung" s ON s."id" = l."sichtbeobachtung_id";--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant_neu"
	ALTER COLUMN "mandant_id" SET NOT NULL, ALTER COLUMN "sichtbeobachtung_id" SET NOT NULL, ALTER COLUMN "gid" SET NOT NULL,
	ALTER COLUMN "exakt" SET NOT NULL, ALTER COLUMN "frei" SET NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_mandant_neu_pk" ON "portal"."sichtbeobachtung_mandant_neu" USING btree ("sichtbeobachtung_id","mandant_id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_mandant_frei" ON "portal"."sichtbeobachtung_mandant_neu" USING btree ("mandant_id","frei","sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_mandant_neu_gruppe" ON "portal"."sichtbeobachtung_mandant_neu" USING btree ("mandant_id","frei","gid","sichtbeobachtung_id");--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant_neu" ADD CONSTRAINT "sichtbeobachtung_mandant_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant_neu" ADD CONSTRAINT "sichtbeobachtung_mandant_sichtbeobachtung_id" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ANALYZE "portal"."sichtbeobachtung_mandant_neu";--> statement-breakpoint
DROP TABLE "portal"."sichtbeobachtung_mandant";--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant_neu" RENAME TO "sichtbeobachtung_mandant";--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant" ADD CONSTRAINT "sichtbeobachtung_mandant_pk" PRIMARY KEY USING INDEX "sichtbeobachtung_mandant_neu_pk";--> statement-breakpoint
ALTER INDEX "portal"."sichtbeobachtung_mandant_neu_gruppe" RENAME TO "sichtbeobachtung_mandant_gruppe";
