import { fillPage } from '../core/fill-page.ts';
import { metricList } from './metrics.ts';

/** Fills the table of all metrics into docs/monitoring.md. */
export function fillMetrics(page: string): string {
  const rows = metricList().map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`);
  return fillPage(page, 'metrics', ['| Metric | Type | Meaning |', '| --- | --- | --- |', ...rows].join('\n'));
}
