import { metricList } from './metrics.ts';

const [begin, end] = ['<!-- metrics -->', '<!-- /metrics -->'];

/** Fills the table of all metrics into a page, between its two marks. */
export function fillMetrics(page: string): string {
  const rows = metricList().map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`);
  const table = ['| Metric | Type | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
  return page.replace(new RegExp(`${begin}[^]*${end}`), () => `${begin}\n\n${table}\n\n${end}`);
}
