/** A spot in a file; line and column count from 1, and 0 stands for the file as a whole. */
export interface Place {
  file: string
  line: number
  column: number
}

/** Something wrong in a file, at the node that is wrong. */
export interface FileProblem extends Place {
  message: string
}

/** `FILE:LINE:COLUMN`, the notation that editors and terminals turn into a link; without a line, the file alone. */
export function formatPlace(place: Place): string {
  return place.line === 0 ? place.file : `${place.file}:${place.line}:${place.column}`
}

export function formatProblem(problem: FileProblem): string {
  return `${formatPlace(problem)}: ${problem.message}`
}
