-- A new table in place of a new column: readers go on until it is filled and takes the old one's name; writers wait.
-- Without the foreign keys: its rows are made and removed by triggers. Until sql/code brings the one for deletion, a moment later,
-- the one below stands in for it.
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
ANALYZE "portal"."sichtbeobachtung_mandant_neu";--> statement-breakpoint
DROP TABLE "portal"."sichtbeobachtung_mandant";--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant_neu" RENAME TO "sichtbeobachtung_mandant";--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant" ADD CONSTRAINT "sichtbeobachtung_mandant_pk" PRIMARY KEY USING INDEX "sichtbeobachtung_mandant_neu_pk";--> statement-breakpoint
ALTER INDEX "portal"."sichtbeobachtung_mandant_neu_gruppe" RENAME TO "sichtbeobachtung_mandant_gruppe";--> statement-breakpoint
DO $$
BEGIN
	IF to_regnamespace('private') IS NOT NULL THEN
		CREATE OR REPLACE FUNCTION private.sichtbeobachtung_mandant_after_delete() RETURNS trigger
			LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = '' AS $f$
		BEGIN
			DELETE FROM portal.sichtbeobachtung_mandant l USING old_row o WHERE l.sichtbeobachtung_id = o.id;
			RETURN NULL;
		END
		$f$;
		CREATE OR REPLACE TRIGGER _200_mandant_delete AFTER DELETE ON portal.sichtbeobachtung
			REFERENCING OLD TABLE AS old_row
			FOR EACH STATEMENT EXECUTE FUNCTION private.sichtbeobachtung_mandant_after_delete();
	END IF;
END
$$;
