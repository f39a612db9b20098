/** `Anna`, or `Anna 2` and so on where that is taken. */
export async function freeName(name: string, isTaken: (name: string) => boolean | Promise<boolean>): Promise<string> {
  const begin = [...name.replace(/ \d+$/, '')].slice(0, 58).join('').trimEnd();
  for (let number = 2, next = name; ; number += 1) {
    if (!(await isTaken(next))) return next;
    next = `${begin} ${number}`;
  }
}
