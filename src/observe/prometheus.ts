export type Labels = Readonly<Record<string, string>>;

/** Content type of the Prometheus text format. */
export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

export function exposition(metrics: readonly { text(): string }[]): string {
  return metrics.map((metric) => metric.text()).join('\n');
}

/** A counter or a gauge: one number per set of labels. The type says which methods may be used. */
export class NumberMetric {
  readonly #values = new Map<string, number>();

  constructor(
    readonly name: string,
    readonly help: string,
    readonly type: 'counter' | 'gauge',
  ) {}

  /** An amount of 0 makes the metric visible before there is anything to count. */
  inc(labels: Labels, amount = 1): void {
    const key = labelText(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + amount);
  }

  /** For counters whose value is a maximum. */
  raiseTo(labels: Labels, value: number): void {
    this.set(labels, Math.max(value, this.#values.get(labelText(labels)) ?? 0));
  }

  set(labels: Labels, value: number): void {
    this.#values.set(labelText(labels), value);
  }

  /** Removes all sets of labels. */
  reset(): void {
    this.#values.clear();
  }

  text(): string {
    const samples = [...this.#values].map(([labels, value]) => sample(this.name, labels, value));
    return header(this.name, this.help, this.type) + samples.join('');
  }
}

export type Counter = Pick<NumberMetric, 'inc' | 'raiseTo' | 'text'>;
export type Gauge = NumberMetric;

interface Distribution {
  readonly labels: Labels;
  /** Number of values per bucket, not cumulative. */
  readonly counts: number[];
  sum: number;
  count: number;
}

export class Histogram {
  readonly type = 'histogram';
  readonly #distributions = new Map<string, Distribution>();

  constructor(
    readonly name: string,
    readonly help: string,
    /** Upper bounds, in rising order. */
    private readonly bounds: readonly number[],
  ) {}

  observe(labels: Labels, value: number): void {
    const distribution = this.zero(labels);
    const bucket = this.bounds.findIndex((bound) => value <= bound);
    if (bucket !== -1) distribution.counts[bucket] = (distribution.counts[bucket] ?? 0) + 1;
    distribution.sum += value;
    distribution.count += 1;
  }

  /** Adds values that were counted elsewhere by the same bounds; the last count is above all bounds. */
  add(labels: Labels, counts: ArrayLike<number>, sum: number): void {
    const distribution = this.zero(labels);
    for (let bucket = 0; bucket < counts.length; bucket += 1) {
      const count = counts[bucket] ?? 0;
      if (bucket < this.bounds.length) distribution.counts[bucket] = (distribution.counts[bucket] ?? 0) + count;
      distribution.count += count;
    }
    distribution.sum += sum;
  }

  /** Makes these labels visible before there is anything to observe. */
  zero(labels: Labels): Distribution {
    const key = labelText(labels);
    const known = this.#distributions.get(key) ?? { labels, counts: this.bounds.map(() => 0), sum: 0, count: 0 };
    this.#distributions.set(key, known);
    return known;
  }

  text(): string {
    const { name } = this;
    const samples = [...this.#distributions].flatMap(([key, { labels, counts, sum, count }]) => {
      let below = 0;
      const buckets = this.bounds.map((bound, index) => {
        below += counts[index] ?? 0;
        return sample(`${name}_bucket`, labelText({ le: String(bound), ...labels }), below);
      });
      const all = sample(`${name}_bucket`, labelText({ le: '+Inf', ...labels }), count);
      return [...buckets, all, sample(`${name}_sum`, key, sum), sample(`${name}_count`, key, count)];
    });
    return header(name, this.help, 'histogram') + samples.join('');
  }
}

function header(name: string, help: string, type: string): string {
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`;
}

const sample = (name: string, labels: string, value: number): string => `${name}${labels} ${value}\n`;

/** Of labels that many metrics and requests share. */
const labelTexts = new WeakMap<Labels, string>();

function labelText(labels: Labels): string {
  const known = labelTexts.get(labels);
  if (known !== undefined) return known;
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`);
  const text = pairs.length > 0 ? `{${pairs.join(',')}}` : '';
  labelTexts.set(labels, text);
  return text;
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
