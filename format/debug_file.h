/*
 * Separate debug files: what strip(1) took out of a program, in a file of its own. Any thread; allocates inside libelf
 * only, blocks as reading does, and trusts no byte of a file.
 *
 * Source: "Debugging Information in Separate Files" of the GDB manual.
 */
#ifndef WEIR_FORMAT_DEBUG_FILE_H
#define WEIR_FORMAT_DEBUG_FILE_H

/*
 * Opens the debug file of the ELF file behind fd, which is only read, by pread(2). Tried are, in this order,
 *
 *     ROOT/.build-id/NN/NNNN.debug                 by the file's build id
 *     DIR/NAME, DIR/.debug/NAME, ROOT/DIR/NAME     by its section .gnu_debuglink, DIR being the folder of path
 *
 * and of these the first one that is of this very file: with the same build id or, where the file has none, with the
 * checksum that is in .gnu_debuglink. path: absolute. root: NULL for /usr/lib/debug. Returns a descriptor, -ENOENT
 * (there is none) or -errno of reading fd.
 */
int weir_debug_file_open(int fd, const char *path, const char *root);

#endif
