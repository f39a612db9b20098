import { describe, expect, test } from 'vitest';
import { dropTarget } from './drop-target.ts';

/** The parts of an element that a drop target uses. */
class FakeElement extends EventTarget {
  readonly dataset: Record<string, string> = {};
  readonly inside = {};

  contains(node: unknown): boolean {
    return node === this.inside;
  }
}

function target() {
  const element = new FakeElement();
  const accepted: string[] = [];
  const detach = dropTarget((files) => accepted.push(...files.map(({ name }) => name)))(
    element as unknown as HTMLElement,
  );
  const fire = (type: string, fields: object): Event => {
    const event = Object.assign(new Event(type, { cancelable: true }), fields);
    element.dispatchEvent(event);
    return event;
  };
  return { element, accepted, fire, detach: detach as () => void };
}
const dragged = { dataTransfer: { types: ['Files'] } };
const dropped = { dataTransfer: { files: [{ name: 'a.txt' }, { name: 'b.txt' }] } };

describe('dropTarget', () => {
  test('is marked while files are over it or over its children', () => {
    const { element, fire } = target();
    expect(fire('dragover', dragged).defaultPrevented).toBe(true);
    expect(element.dataset.dropping).toBe('');
    fire('dragleave', { relatedTarget: element.inside });
    expect(element.dataset.dropping).toBe('');
    fire('dragleave', { relatedTarget: null });
    expect(element.dataset.dropping).toBeUndefined();
  });

  test('accepts all dropped files and removes the mark', () => {
    const { element, accepted, fire } = target();
    fire('dragover', dragged);
    expect(fire('drop', dropped).defaultPrevented).toBe(true);
    expect(accepted).toEqual(['a.txt', 'b.txt']);
    expect(element.dataset.dropping).toBeUndefined();
  });

  test('leaves dragged text to the browser', () => {
    const { element, accepted, fire } = target();
    expect(fire('dragover', { dataTransfer: { types: ['text/plain'] } }).defaultPrevented).toBe(false);
    expect(fire('drop', { dataTransfer: { files: [] } }).defaultPrevented).toBe(false);
    expect(element.dataset.dropping).toBeUndefined();
    expect(accepted).toEqual([]);
  });

  test('ignores drops after it is detached', () => {
    const { accepted, fire, detach } = target();
    detach();
    fire('drop', dropped);
    expect(accepted).toEqual([]);
  });
});
