/**
 * A binary heap of numbers, each with a key. `pop` returns the number with the smallest key and, among equal keys, the
 * smallest number.
 */
export interface MinHeap {
  push(key: number, value: number): void;
  pop(): { readonly key: number; readonly value: number } | undefined;
}

export function minHeap(): MinHeap {
  const heap: { readonly key: number; readonly value: number }[] = [];
  const before = (a: number, b: number): boolean => {
    const [first, second] = [heap[a]!, heap[b]!];
    return first.key < second.key || (first.key === second.key && first.value < second.value);
  };
  const swap = (a: number, b: number): void => {
    [heap[a], heap[b]] = [heap[b]!, heap[a]!];
  };
  return {
    push(key, value) {
      let at = heap.push({ key, value }) - 1;
      for (let above = (at - 1) >> 1; at > 0 && before(at, above); above = (at - 1) >> 1) {
        swap(at, above);
        at = above;
      }
    },
    pop() {
      if (heap.length < 2) return heap.pop();
      swap(0, heap.length - 1);
      const min = heap.pop();
      for (let at = 0; ; ) {
        let child = 2 * at + 1;
        if (child + 1 < heap.length && before(child + 1, child)) child++;
        if (child >= heap.length || !before(child, at)) return min;
        swap(at, child);
        at = child;
      }
    },
  };
}
