! SPDX-License-Identifier: BSD-3-Clause
! One-sided communication from Fortran, once per binding: compiled with TEST_MPIF_H (include 'mpif.h'), TEST_MPI
! (use mpi) or TEST_F08 (use mpi_f08). Knows nothing of TrueRMA.
#if defined(TEST_F08)
#define MODULE_MPI mpi_f08
#define T_WIN type(MPI_Win)
#define T_COMM type(MPI_Comm)
#define T_GROUP type(MPI_Group)
#define T_TYPE type(MPI_Datatype)
#define T_REQUEST type(MPI_Request)
#else
#define MODULE_MPI mpi
#define T_WIN integer
#define T_COMM integer
#define T_GROUP integer
#define T_TYPE integer
#define T_REQUEST integer
#endif

program windows
#ifndef TEST_MPIF_H
  use MODULE_MPI
#endif
  use, intrinsic :: iso_c_binding
  implicit none
#ifdef TEST_MPIF_H
  include 'mpif.h'
#endif
  integer, parameter :: aint = MPI_ADDRESS_KIND, words = 64
  integer(aint), parameter :: window_bytes = 4 * words
  integer :: rank, ranks, next, previous, ierror, passed, failed
  integer :: mine(2), total(2)

  passed = 0
  failed = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  call with_create
  call with_allocate
  call with_shared
  call with_alloc_mem
  call with_dynamic
  call with_attribute_left
  mine = [passed, failed]
  call MPI_Allreduce(mine, total, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(i0, a, i0, a)', total(1), ' passed, ', total(2), ' failed'
  call MPI_Finalize(ierror)
  if (total(2) /= 0 .or. total(1) == 0) stop 1

contains

  subroutine check(condition, text)
    logical, intent(in) :: condition
    character(*), intent(in) :: text

    if (condition) then
       passed = passed + 1
    else
       failed = failed + 1
       print '(a, i0, 2a)', 'rank ', rank, ': FAILED: ', text
    end if
  end subroutine check

  ! The memory behind an address, as words.
  function memory_at(address) result(memory)
    integer(aint), intent(in) :: address
    integer(c_int), pointer :: memory(:)
    type(c_ptr) :: place

    place = transfer(address, place)
    call c_f_pointer(place, memory, [words])
  end function memory_at

  subroutine check_attribute(win, keyval, expected, name)
    T_WIN, intent(in) :: win
    integer, intent(in) :: keyval
    integer(aint), intent(in) :: expected
    character(*), intent(in) :: name
    integer(aint) :: value
    logical :: found

    value = -1
    found = .false.
    call MPI_Win_get_attr(win, keyval, value, found, ierror)
    call check(found .and. value == expected, 'attribute ' // name)
  end subroutine check_attribute

  subroutine check_attributes(win, base, bytes, unit, flavor)
    T_WIN, intent(in) :: win
    integer(aint), intent(in) :: base, bytes
    integer, intent(in) :: unit, flavor

    call check_attribute(win, MPI_WIN_BASE, base, 'base')
    call check_attribute(win, MPI_WIN_SIZE, bytes, 'size')
    call check_attribute(win, MPI_WIN_DISP_UNIT, int(unit, aint), 'displacement unit')
    call check_attribute(win, MPI_WIN_CREATE_FLAVOR, int(flavor, aint), 'flavour')
    call check_attribute(win, MPI_WIN_MODEL, int(MPI_WIN_UNIFIED, aint), 'model')
    call user_attribute(win)
  end subroutine check_attributes

  ! An attribute of the program's own goes the same ways.
  subroutine user_attribute(win)
    T_WIN, intent(in) :: win
    integer :: keyval
    integer(aint) :: extra, value
    logical :: found

    extra = 0
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, extra, ierror)
    value = 123456789012_aint
    call MPI_Win_set_attr(win, keyval, value, ierror)
    call check_attribute(win, keyval, value, 'of the program')
    call MPI_Win_delete_attr(win, keyval, ierror)
    call MPI_Win_get_attr(win, keyval, value, found, ierror)
    call check(.not. found, 'a deleted attribute is gone')
    call MPI_Win_free_keyval(keyval, ierror)
  end subroutine user_attribute

  ! Every synchronisation with data of every kind of operation; displacements are in units of 4 bytes from `origin`.
  subroutine all_modes(win, memory, origins, unit)
    T_WIN, intent(inout) :: win
    integer(c_int), pointer, intent(in) :: memory(:)
    integer(aint), intent(in) :: origins(0:)
    integer, intent(in) :: unit

    memory = 0
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call with_fence(win, memory, origins, unit)
    call with_post(win, memory, origins, unit)
    call with_lock(win, memory, origins, unit)
    call with_lock_all(win, memory, origins, unit)
    call with_bottom(win, memory, origins, unit)
    call with_error(win)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine all_modes

  ! Where word `index` (from 0) of a rank lies.
  integer(aint) function place(origins, unit, target, index)
    integer(aint), intent(in) :: origins(0:)
    integer, intent(in) :: unit, target, index

    place = origins(target) + index * (4 / unit)
  end function place

  subroutine with_fence(win, memory, origins, unit)
    T_WIN, intent(in) :: win
    integer(c_int), pointer, intent(in) :: memory(:)
    integer(aint), intent(in) :: origins(0:)
    integer, intent(in) :: unit
    integer(c_int), asynchronous :: given(3), got(3)

    given = [rank, rank + 100, rank + 200]
    got = -1
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, win, ierror)
    call MPI_Put(given, 3, MPI_INTEGER, next, place(origins, unit, next, 0), 3, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call check(all(memory(1:3) == [previous, previous + 100, previous + 200]), 'put and fence')
    call MPI_Get(got, 3, MPI_INTEGER, next, place(origins, unit, next, 0), 3, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierror)
    call check(all(got == given), 'get and fence')
  end subroutine with_fence

  subroutine with_post(win, memory, origins, unit)
    T_WIN, intent(in) :: win
    integer(c_int), pointer, intent(in) :: memory(:)
    integer(aint), intent(in) :: origins(0:)
    integer, intent(in) :: unit
    T_GROUP :: world, from, to
    integer(c_int), asynchronous :: given
    logical :: done

    call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
    call MPI_Group_incl(world, 1, [previous], from, ierror)
    call MPI_Group_incl(world, 1, [next], to, ierror)
    given = 1000 + rank
    call MPI_Win_post(from, 0, win, ierror)
    call MPI_Win_start(to, 0, win, ierror)
    call MPI_Put(given, 1, MPI_INTEGER, next, place(origins, unit, next, 5), 1, MPI_INTEGER, win, ierror)
    call MPI_Win_complete(win, ierror)
    call MPI_Win_wait(win, ierror)
    call check(memory(6) == 1000 + previous, 'put, complete and wait')
    call MPI_Win_post(from, 0, win, ierror)
    call MPI_Win_start(to, 0, win, ierror)
    call MPI_Accumulate(given, 1, MPI_INTEGER, next, place(origins, unit, next, 5), 1, MPI_INTEGER, MPI_SUM, win, &
         ierror)
    call MPI_Win_complete(win, ierror)
    done = .false.
    do while (.not. done)
       call MPI_Win_test(win, done, ierror)
    end do
    call check(memory(6) == 2 * (1000 + previous), 'accumulate, complete and test')
    call MPI_Group_free(world, ierror)
    call MPI_Group_free(from, ierror)
    call MPI_Group_free(to, ierror)
  end subroutine with_post

  subroutine with_lock(win, memory, origins, unit)
    T_WIN, intent(in) :: win
    integer(c_int), pointer, intent(in) :: memory(:)
    integer(aint), intent(in) :: origins(0:)
    integer, intent(in) :: unit
    integer(c_int), asynchronous :: one, got, expected, given(2), fetched(2)
    T_REQUEST :: request
    integer :: i

    one = 1
    do i = 1, 10
       call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win, ierror)
       call MPI_Fetch_and_op(one, got, MPI_INTEGER, 0, place(origins, unit, 0, 8), MPI_SUM, win, ierror)
       call MPI_Win_unlock(0, win, ierror)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (rank == 0) then
       call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierror)
       call check(memory(9) == 10 * ranks, 'fetch_and_op from all ranks')
       call MPI_Win_unlock(0, win, ierror)
    end if

    given = [7, 8]
    fetched = -1
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win, ierror)
    call MPI_Get_accumulate(given, 2, MPI_INTEGER, fetched, 2, MPI_INTEGER, next, place(origins, unit, next, 10), 2, &
         MPI_INTEGER, MPI_REPLACE, win, ierror)
    call MPI_Win_flush(next, win, ierror)
    call check(all(fetched == 0), 'get_accumulate gives what was there')
    expected = 7
    given(1) = 70
    call MPI_Compare_and_swap(given(1), expected, got, MPI_INTEGER, next, place(origins, unit, next, 10), win, ierror)
    call MPI_Win_flush_local(next, win, ierror)
    call MPI_Rput(one, 1, MPI_INTEGER, next, place(origins, unit, next, 12), 1, MPI_INTEGER, win, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Win_unlock(next, win, ierror)
    call check(got == 7, 'compare_and_swap gives what was there')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, win, ierror)
    call check(all(memory(11:13) == [70, 8, 1]), 'replace, swap and rput have arrived')
    call MPI_Win_unlock(rank, win, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine with_lock

  subroutine with_lock_all(win, memory, origins, unit)
    T_WIN, intent(in) :: win
    integer(c_int), pointer, intent(in) :: memory(:)
    integer(aint), intent(in) :: origins(0:)
    integer, intent(in) :: unit
    integer(c_int), asynchronous :: given
    integer :: target

    given = rank + 1
    call MPI_Win_lock_all(0, win, ierror)
    do target = 0, ranks - 1
       call MPI_Put(given, 1, MPI_INTEGER, target, place(origins, unit, target, 20 + rank), 1, MPI_INTEGER, win, ierror)
    end do
    call MPI_Win_flush_all(win, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Win_sync(win, ierror)
    call check(all(memory(21:20 + ranks) == [(target, target = 1, ranks)]), 'put, flush_all and sync')
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine with_lock_all

  ! The origin's data is named by its address alone.
  subroutine with_bottom(win, memory, origins, unit)
    T_WIN, intent(in) :: win
    integer(c_int), pointer, intent(in) :: memory(:)
    integer(aint), intent(in) :: origins(0:)
    integer, intent(in) :: unit
    integer(c_int), asynchronous :: given(2)
    integer(aint) :: address(1)
    T_TYPE :: absolute

    given = [rank + 31, rank + 32]
    call MPI_Get_address(given, address(1), ierror)
    call MPI_Type_create_hindexed(1, [2], address, MPI_INTEGER, absolute, ierror)
    call MPI_Type_commit(absolute, ierror)
    call MPI_Win_fence(0, win, ierror)
    call MPI_Put(MPI_BOTTOM, 1, absolute, next, place(origins, unit, next, 40), 2, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierror)
    call check(all(memory(41:42) == [previous + 31, previous + 32]), 'put from MPI_BOTTOM')
    call MPI_Type_free(absolute, ierror)
  end subroutine with_bottom

  subroutine with_error(win)
    T_WIN, intent(in) :: win
    integer(c_int), asynchronous :: given
    integer :: class

    given = 0
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierror)
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, win, ierror)
    call MPI_Put(given, 1, MPI_INTEGER, ranks, 0_aint, 1, MPI_INTEGER, win, ierror)
    call MPI_Error_class(ierror, class, ierror)
    call check(class == MPI_ERR_RANK, 'put to a rank that does not exist')
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierror)
  end subroutine with_error

  subroutine with_create
    integer(c_int), target :: memory(words)
    integer(aint) :: base, origins(0:ranks - 1)
    T_WIN :: win

    origins = 0
    call MPI_Win_create(memory, window_bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Get_address(memory, base, ierror)
    call check_attributes(win, base, window_bytes, 4, MPI_WIN_FLAVOR_CREATE)
    call all_modes(win, memory_at(base), origins, 4)
    call MPI_Win_free(win, ierror)
  end subroutine with_create

  ! A window is as new, whatever the program left on the one that was freed before it.
  subroutine with_attribute_left
    integer(c_int), target :: memory(words)
    integer(aint) :: extra, value
    integer :: keyval, i
    logical :: found
    T_WIN :: win

    extra = 0
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, extra, ierror)
    do i = 1, 3
       call MPI_Win_create(memory, window_bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
       call MPI_Win_get_attr(win, keyval, value, found, ierror)
       call check(.not. found, 'a new window has no attribute of the program')
       value = i
       call MPI_Win_set_attr(win, keyval, value, ierror)
       call MPI_Win_free(win, ierror)
    end do
    call MPI_Win_free_keyval(keyval, ierror)
  end subroutine with_attribute_left

  ! mpif.h has only the form that gives the address as an integer, mpi_f08 only the one that gives a C pointer.
  subroutine with_allocate
    integer(c_int), pointer :: memory(:)
    integer(aint) :: base, origins(0:ranks - 1)
    T_WIN :: win
#ifdef TEST_MPIF_H
    call MPI_Win_allocate(window_bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
#else
    type(c_ptr) :: pointer_to_base

    call MPI_Win_allocate(window_bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, pointer_to_base, win, ierror)
    base = transfer(pointer_to_base, base)
#endif
    origins = 0
    memory => memory_at(base)
    call check_attributes(win, base, window_bytes, 4, MPI_WIN_FLAVOR_ALLOCATE)
    call all_modes(win, memory, origins, 4)
    call MPI_Win_free(win, ierror)
  end subroutine with_allocate

  subroutine with_shared
    integer(c_int), pointer :: memory(:), other(:)
    integer(aint) :: base, there, bytes, origins(0:ranks - 1)
    integer :: unit
    T_WIN :: win
#ifdef TEST_F08
    type(c_ptr) :: pointer_to_base

    call MPI_Win_allocate_shared(window_bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, pointer_to_base, win, ierror)
    base = transfer(pointer_to_base, base)
    call MPI_Win_shared_query(win, next, bytes, unit, pointer_to_base, ierror)
    there = transfer(pointer_to_base, there)
#else
    call MPI_Win_allocate_shared(window_bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
    call MPI_Win_shared_query(win, next, bytes, unit, there, ierror)
#endif
    call check(bytes == window_bytes .and. unit == 4, 'shared_query gives size and unit')
    origins = 0
    memory => memory_at(base)
    other => memory_at(there)
    call check_attributes(win, base, window_bytes, 4, MPI_WIN_FLAVOR_SHARED)
    call all_modes(win, memory, origins, 4)
    call MPI_Win_fence(0, win, ierror)
    other(50) = 500 + rank
    call MPI_Win_fence(0, win, ierror)
    call check(memory(50) == 500 + previous, 'a store through shared_query arrives')
    call MPI_Win_free(win, ierror)
  end subroutine with_shared

  subroutine with_alloc_mem
    integer(c_int), pointer :: memory(:)
    integer(aint) :: base, origins(0:ranks - 1)
    T_WIN :: win
#ifdef TEST_MPIF_H
    call MPI_Alloc_mem(window_bytes, MPI_INFO_NULL, base, ierror)
#else
    type(c_ptr) :: pointer_to_base

    call MPI_Alloc_mem(window_bytes, MPI_INFO_NULL, pointer_to_base, ierror)
    base = transfer(pointer_to_base, base)
#endif
    origins = 0
    memory => memory_at(base)
    call MPI_Win_create(memory, window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call check_attributes(win, base, window_bytes, 1, MPI_WIN_FLAVOR_CREATE)
    call all_modes(win, memory, origins, 1)
    call MPI_Win_free(win, ierror)
    call MPI_Free_mem(memory, ierror)
  end subroutine with_alloc_mem

  subroutine with_dynamic
    integer(c_int), target :: memory(words)
    integer(aint) :: base(1), origins(0:ranks - 1)
    T_WIN :: win

    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_attach(win, memory, window_bytes, ierror)
    call MPI_Get_address(memory, base(1), ierror)
    call MPI_Allgather(base, 1, MPI_AINT, origins, 1, MPI_AINT, MPI_COMM_WORLD, ierror)
    call check_attribute(win, MPI_WIN_CREATE_FLAVOR, int(MPI_WIN_FLAVOR_DYNAMIC, aint), 'flavour')
    call check_attribute(win, MPI_WIN_SIZE, 0_aint, 'size')
    call user_attribute(win)
    call all_modes(win, memory_at(base(1)), origins, 1)
    call MPI_Win_detach(win, memory, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine with_dynamic
end program windows
