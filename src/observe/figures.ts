export type Labels = Readonly<Record<string, string>>;

interface Facts {
  readonly name: string;
  readonly help: string;
}

/** One figure under one name, for each set of labels. */
export abstract class Figure {
  constructor(
    private readonly facts: Facts,
    private readonly type: 'counter' | 'gauge' | 'histogram',
  ) {}

  /** In the text format of Prometheus: what it is, and then a line for each number. */
  text(): string {
    const { name, help } = this.facts;
    const head = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${this.type}\n`;
    return head + this.lines(name).join('');
  }

  protected abstract lines(name: string): readonly string[];
}

/** A number for each set of labels. */
class Numbers extends Figure {
  readonly #values = new Map<string, number>();

  protected add(labels: Labels, amount: number): void {
    const key = labelText(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + amount);
  }

  protected put(labels: Labels, value: number): void {
    this.#values.set(labelText(labels), value);
  }

  protected clear(): void {
    this.#values.clear();
  }

  protected override lines(name: string): readonly string[] {
    return [...this.#values].map(([labels, value]) => line(name, labels, value));
  }
}

/** Never falls. */
export class Counter extends Numbers {
  constructor(facts: Facts) {
    super(facts, 'counter');
  }

  /** With 0 it is there before there is anything to count. */
  increase(labels: Labels, amount = 1): void {
    this.add(labels, amount);
  }
}

export class Gauge extends Numbers {
  constructor(facts: Facts) {
    super(facts, 'gauge');
  }

  set(labels: Labels, value: number): void {
    this.put(labels, value);
  }

  /** By so much, up or down. */
  change(labels: Labels, amount: number): void {
    this.add(labels, amount);
  }

  /** Nothing is known of any labels any more. */
  forget(): void {
    this.clear();
  }
}

interface Observed {
  readonly labels: Labels;
  /** How many were no larger than the bound of their bucket, and larger than the one before. */
  readonly counts: number[];
  sum: number;
  count: number;
}

export class Histogram extends Figure {
  readonly #observed = new Map<string, Observed>();

  constructor(
    facts: Facts,
    /** Upper bounds, in rising order. */
    private readonly bounds: readonly number[],
  ) {
    super(facts, 'histogram');
  }

  observe(labels: Labels, value: number): void {
    const observed = this.begin(labels);
    const bucket = this.bounds.findIndex((bound) => value <= bound);
    if (bucket !== -1) observed.counts[bucket] = (observed.counts[bucket] ?? 0) + 1;
    observed.sum += value;
    observed.count += 1;
  }

  /** It is there before there is anything to observe. */
  begin(labels: Labels): Observed {
    const key = labelText(labels);
    const observed = this.#observed.get(key) ?? { labels, counts: this.bounds.map(() => 0), sum: 0, count: 0 };
    this.#observed.set(key, observed);
    return observed;
  }

  protected override lines(name: string): readonly string[] {
    return [...this.#observed].flatMap(([key, { labels, counts, sum, count }]) => {
      let below = 0;
      const buckets = this.bounds.map((bound, index) => {
        below += counts[index] ?? 0;
        return line(`${name}_bucket`, labelText({ le: String(bound), ...labels }), below);
      });
      const all = line(`${name}_bucket`, labelText({ le: '+Inf', ...labels }), count);
      return [...buckets, all, line(`${name}_sum`, key, sum), line(`${name}_count`, key, count)];
    });
  }
}

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

/** All of them as one text. */
export function exposition(figures: readonly Figure[]): string {
  return figures.map((figure) => figure.text()).join('\n');
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels} ${value}\n`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
