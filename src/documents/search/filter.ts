import type { Attributes, Filter } from '../../core/documents.ts';

type Value = string | number | boolean;

/** Whether a file is searched. One without the attribute matches only what excludes values. Values of different types are never equal, and none is larger. */
export function matches(filter: Filter, attributes: Attributes): boolean {
  switch (filter.type) {
    case 'and':
      return filter.filters.every((one) => matches(one, attributes));
    case 'or':
      return filter.filters.some((one) => matches(one, attributes));
    case 'in':
    case 'nin': {
      const own = attributeOf(attributes, filter.key);
      return filter.value.some((value) => value === own) === (filter.type === 'in');
    }
    case 'eq':
    case 'ne':
      return (attributeOf(attributes, filter.key) === filter.value) === (filter.type === 'eq');
    default: {
      const own = attributeOf(attributes, filter.key);
      return own !== undefined && typeof own === typeof filter.value && compares(filter.type, own, filter.value);
    }
  }
}

function attributeOf(attributes: Attributes, key: string): Value | undefined {
  return Object.hasOwn(attributes, key) ? attributes[key] : undefined;
}

function compares(type: 'gt' | 'gte' | 'lt' | 'lte', own: Value, value: Value): boolean {
  if (type === 'gt') return own > value;
  if (type === 'gte') return own >= value;
  return type === 'lt' ? own < value : own <= value;
}
